//! Sends what the window allows: with the acknowledgement, after a random delay, or paced.
use tidegate::{Rng, Span, Time};

use super::congestion::Pacing;
use super::connection::{Connection, Output};
use super::departures::Schedule;
use super::recovery::{Burst, LossRecovery};
use super::rules::PacingCredit;

/// The flow begins, or the burst that waited goes out.
pub(super) fn wake<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    dice: &mut Rng,
    out: &mut Vec<Output>,
) {
    let departures = &mut connection.departures;
    let waited = std::mem::replace(&mut departures.send_at, Time::MAX) != Time::MAX;
    match departures.schedule {
        Schedule::Scattered(_) if waited => {
            burst(recovery, connection, now, Burst::WINDOW, out);
        }
        _ => fill(recovery, connection, now, Burst::WINDOW, dice, out),
    }
}

/// Sends what the window allows, at once or later.
#[inline(always)]
pub(super) fn fill<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    most: Burst,
    dice: &mut Rng,
    out: &mut Vec<Output>,
) {
    match connection.departures.schedule {
        Schedule::AtOnce => {
            burst(recovery, connection, now, most, out);
        }
        Schedule::Scattered(over) => {
            if connection.departures.send_at == Time::MAX && recovery.may_send(connection) {
                let wait = Span::from_nanos(dice.below(over.as_nanos()));
                connection.departures.send_at = now + wait;
            }
        }
        Schedule::Paced(credit) => pace(recovery, connection, now, credit, out),
    }
}

/// Sends up to so many segments, as far as the window goes: how many.
#[inline(always)]
fn burst<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    most: Burst,
    out: &mut Vec<Output>,
) -> u32 {
    let mut sent = 0;
    while sent < most.0 && recovery.send_next(connection, now, out) {
        sent += 1;
    }
    sent
}

/// Sends what is due, and sets the time for the rest.
fn pace<R: LossRecovery>(
    recovery: &mut R,
    connection: &mut Connection,
    now: Time,
    credit: PacingCredit,
    out: &mut Vec<Output>,
) {
    if connection.departures.send_at != Time::MAX {
        return; // it waits for its turn
    }
    while recovery.may_send(connection) {
        if now < connection.departures.free {
            connection.departures.send_at = connection.departures.free;
            return;
        }
        let Some(Pacing { rate, quantum }) = connection.window.pacing() else { return };
        let sent = burst(recovery, connection, now, Burst(quantum), out);
        if sent == 0 {
            break;
        }
        // The next leave when these have been paid for.
        let price = rate.time_for(sent).as_nanos();
        let unused = match credit {
            PacingCredit::None => 0,
            PacingCredit::HalfInterval => {
                now.since(connection.departures.free).as_nanos().min(price / 2)
            }
        };
        connection.departures.free = now + Span::from_nanos(price - unused);
    }
    limit(recovery, connection);
}

/// If it could send more and has no more, rates measured now say little of the path.
fn limit<R: LossRecovery>(recovery: &R, connection: &mut Connection) {
    let lacks = connection.max == connection.end && recovery.has_room(connection);
    if lacks && connection.deliveries.is_some() {
        let flight = recovery.flight(connection);
        if let Some(deliveries) = &mut connection.deliveries {
            deliveries.limit(flight);
        }
    }
}

#[cfg(test)]
#[path = "transmit_tests.rs"]
mod tests;
