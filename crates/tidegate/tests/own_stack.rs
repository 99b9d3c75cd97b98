//! The test of docs/embed/own-stack.md, with a transport that is as small as can be. The page shows
//! this file between the two marks. `tools/package.sh` runs it in a crate of its own.
#[path = "support/my_stack.rs"]
mod my_stack;

// Shown from here:
use {my_stack::Stack, std::iter::from_fn, tidegate::*};
#[test]
fn a_thousand_datagrams_arrive_within_six_seconds() -> Result<(), Box<dyn std::error::Error>> {
    let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1200 B".parse()?)?;
    let way = Bottleneck::of("fq_codel", link, Span::from_millis(20), 1)?;
    let (mut ways, mut ends) = ([way.clone(), way], [Stack::client(1000), Stack::server()]);
    let (mut now, packet) = (Time::ZERO, |d: &[u8]| Packet::new(1, 28 + d.len() as u32)); // headers
    while !ends[0].is_done() {
        for (end, way) in ends.iter_mut().zip(&mut ways) {
            from_fn(|| end.send(now)).for_each(|d| way.offer(now, packet(&d), d));
        }
        let wakes = ways.iter().map(Bottleneck::next_wake).chain(ends.iter().map(Stack::timer));
        now = wakes.flatten().min().ok_or("both ends wait for nothing")?;
        for (end, way) in ends.iter_mut().rev().zip(&mut ways) {
            from_fn(|| way.poll(now)).for_each(|arrived| end.receive(now, arrived.payload));
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
    assert!(shown.lines().count() <= 20, "a test of one's own is short: {shown}");
}
