//! The test of docs/embed/own-stack.md, with a transport that is as small as can be. The page shows
//! this file between the two marks. `tools/package.sh` runs it in a crate of its own.
#[path = "support/my_stack.rs"]
mod my_stack;

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
