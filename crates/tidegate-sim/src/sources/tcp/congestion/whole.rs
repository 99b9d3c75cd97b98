//! A window of whole segments, as Linux has it: what is acknowledged is counted until it makes one
//! segment more.

/// What is acknowledged and has not opened the window yet, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    counted: u32,
}

impl Whole {
    /// `segments` more are acknowledged, and every `every` of them open the `window` by one: the
    /// new window.
    pub fn count(&mut self, window: u32, every: u32, segments: u32) -> u32 {
        let every = every.max(1);
        // The share may have become smaller since: what was counted then makes one segment and no
        // more.
        let early = (self.counted >= every) as u32;
        let counted = if early > 0 { segments } else { self.counted + segments };
        self.counted = counted % every;
        window.saturating_add(early + counted / every)
    }

    /// A loss: what was counted is forgotten.
    pub fn forget(&mut self) {
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_so_many_make_one() {
        let mut whole = Whole::default();
        let windows: Vec<u32> = (0..7).map(|_| whole.count(3, 3, 1)).collect();
        assert_eq!(windows, [3, 3, 4, 3, 3, 4, 3]);
        assert_eq!(whole.count(3, 3, 8), 6, "one waited");
        whole.forget();
        assert_eq!(
            (whole.count(9, 100, 50), whole.count(9, 10, 1), whole.count(9, 10, 8)),
            (9, 10, 9)
        );
        assert_eq!(whole.count(9, 10, 1), 10);
    }
}
