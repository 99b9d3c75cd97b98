//! The test of docs/embed/own-stack.md, with a transport that is as small as can be. The page shows
//! this file between the two marks.
use my_stack::Stack;

// Shown from here:
use tidegate::{Bottleneck, Link, Packet, Seed, Span, Time, catalog};

#[test]
fn a_thousand_datagrams_arrive_within_six_seconds() -> Result<(), Box<dyn std::error::Error>> {
    let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1200 B".parse()?)?;
    let config = catalog::config("fq_codel", None, &link)?;
    let queue = config.build(link, Seed::new(1).stream("queue"))?;
    let way = Bottleneck::new(link.rate, Span::from_millis(20), queue)?;
    let (mut ways, mut ends) = ([way.clone(), way], [Stack::client(1000), Stack::server()]);
    let mut now = Time::ZERO;
    while !ends[0].is_done() {
        for (end, way) in ends.iter_mut().zip(&mut ways) {
            while let Some(datagram) = end.send(now) {
                way.offer(now, Packet::new(1, datagram.len() as u32), datagram);
            }
        }
        let wakes = ways.iter().map(Bottleneck::next_wake).chain(ends.iter().map(Stack::timer));
        now = wakes.flatten().min().ok_or("both ends wait for nothing")?;
        for (end, way) in ends.iter_mut().rev().zip(&mut ways) {
            while let Some(arrived) = way.poll(now) {
                end.receive(now, arrived.payload);
            }
        }
    }
    assert!(now < Time::ZERO + Span::from_secs(6.0), "done after {now}");
    Ok(())
}
// To here.

#[test]
fn the_page_shows_this_file() {
    let (page, file) =
        (include_str!("../../../docs/embed/own-stack.md"), include_str!("own_stack.rs"));
    let begin = file.find("// Shown from here:\n").unwrap() + "// Shown from here:\n".len();
    let shown = &file[begin..file.find("// To here.\n").unwrap()];
    assert!(
        page.contains(&format!("```rust\n{shown}```\n")),
        "docs/embed/own-stack.md is not this file"
    );
}

/// A window of ten datagrams, a timer, and an answer to each.
mod my_stack {
    use tidegate::{Span, Time};

    const WINDOW: usize = 10;

    #[derive(Default)]
    pub struct Stack {
        todo: Vec<u16>,
        under_way: Vec<(u16, Time)>,
        answers: Vec<u16>,
    }

    impl Stack {
        pub fn client(datagrams: u16) -> Stack {
            Stack { todo: (0..datagrams).collect(), ..Stack::default() }
        }

        pub fn server() -> Stack {
            Stack::default()
        }

        pub fn send(&mut self, now: Time) -> Option<Vec<u8>> {
            if let Some(number) = self.answers.pop() {
                return Some(number.to_be_bytes().to_vec());
            }
            let is_late = |(_, due): &mut (u16, Time)| *due <= now;
            let late = self.under_way.extract_if(.., is_late).map(|(number, _)| number);
            self.todo.extend(late);
            if self.under_way.len() == WINDOW {
                return None;
            }
            let number = self.todo.pop()?;
            self.under_way.push((number, now + Span::from_millis(300)));
            let mut datagram = vec![0; 1200];
            datagram[..2].copy_from_slice(&number.to_be_bytes());
            Some(datagram)
        }

        pub fn receive(&mut self, _: Time, datagram: Vec<u8>) {
            let number = u16::from_be_bytes([datagram[0], datagram[1]]);
            if datagram.len() > 2 {
                self.answers.push(number);
            } else {
                self.under_way.retain(|&(known, _)| known != number);
            }
        }

        pub fn timer(&self) -> Option<Time> {
            self.under_way.iter().map(|&(_, due)| due).min()
        }

        pub fn is_done(&self) -> bool {
            self.todo.is_empty() && self.under_way.is_empty()
        }
    }
}
