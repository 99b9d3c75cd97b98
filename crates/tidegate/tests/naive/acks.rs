//! Acknowledgements that a newer one makes superfluous, as tc-cake(8) and Linux's `cake` have it.
//! Numbers do not wrap here.
use tidegate::Ack;

/// Whether `newer`, which is behind `older`, says all that it says, and has news.
fn says_all(newer: &Ack, older: &Ack) -> bool {
    if !older.is_pure() || older.number() > newer.number() {
        return false;
    }
    if let Some(old) = older.stamps() {
        let Some(new) = newer.stamps() else { return false };
        if old[0] > new[0] || old[1] > new[1] {
            return false;
        }
    }
    for block in older.blocks() {
        // What came twice is below the number.
        let twice = block[0] < older.number();
        let within = |other: &&[u32; 2]| other[0] <= block[0] && block[1] <= other[1];
        if twice || newer.blocks().iter().find(within).is_none() {
            return false;
        }
    }
    let beyond = |ack: &Ack| ack.blocks().iter().map(|block| block[1] - block[0]).sum::<u32>();
    newer.number() > older.number() || beyond(newer) > beyond(older)
}

/// Which of those that wait, from the head on, goes when `newest` has come behind them.
pub fn superfluous(waiting: &[(u32, Option<Ack>)], newest: &Ack, aggressive: bool) -> Option<u32> {
    let its = |ack: &Ack| ack.connection() == newest.connection();
    let own: Vec<(u32, Ack)> =
        waiting.iter().filter_map(|(id, ack)| Some((*id, ack.filter(its)?))).collect();
    // The first behind which there is another, with no change of ECN flags between them.
    for (at, (id, ack)) in own.iter().enumerate() {
        let alike = own[at..].iter().take_while(|(_, other)| other.echo() == ack.echo());
        let two = alike.filter(|(_, other)| says_all(newest, other)).count() >= 2;
        if says_all(newest, ack) && two {
            return Some(*id);
        }
    }
    let (last, ack) = own.last()?;
    let goes = says_all(newest, ack) && ack.echo() == newest.echo() && waiting.last()?.0 == *last;
    (aggressive && goes).then_some(*last)
}
