//! The hit cache, the sampling and the count of flows that BLACK and Purge share, read straight
//! from §3 of the Purge paper. There is a list that is searched and a list of minima that is
//! sorted; everything is worked out anew.

/// A flow in the cache; the list is kept in the order of last hits, newest last.
#[derive(Clone, Debug)]
pub struct Cached {
    pub flow: u64,
    pub hits: f64,
    pub fraction: f64,
    /// By how many samplings of the past it is judged, where newcomers are judged by fewer.
    pub before: f64,
    /// Which of the cache's places it has.
    pub place: usize,
}

/// Who makes room in a full cache.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// Who was hit longest ago.
    Oldest,
    /// The least hit fraction, then the fewest hits; among equals the first place.
    Least,
    /// The least weight in eq. (2), which the newcomer takes over (metwally2005); among equals the
    /// first place.
    SpaceSaving,
}

#[derive(Clone, Debug)]
pub struct NaiveHits {
    pub most: usize,
    pub room: Room,
    pub list: Vec<Cached>,
    pub samplings: f64,
    pub samplings_before: f64,
    /// How much of the samplings before the last period counts among those of the past: 0 as
    /// printed, 1 for all there were.
    pub past: f64,
    /// By what part of the past a newcomer is judged; below 1 each flow has a past of its own,
    /// kept in f32.
    pub fresh: f64,
}

impl NaiveHits {
    pub fn new(most: usize) -> NaiveHits {
        NaiveHits {
            most,
            room: Room::Oldest,
            list: Vec::new(),
            samplings: 0.0,
            samplings_before: 0.0,
            past: 0.0,
            fresh: 1.0,
        }
    }

    pub fn hit(&mut self, flow: u64) {
        self.hit_by(flow, 1.0);
    }

    /// A sampling that counts for so many.
    pub fn hit_by(&mut self, flow: u64, weight: f64) {
        self.samplings += weight;
        let mut entry = match self.list.iter().position(|e| e.flow == flow) {
            Some(at) => self.list.remove(at),
            None if self.list.len() < self.most => self.newcomer(flow, self.list.len()),
            None => self.replaced(flow),
        };
        entry.hits += weight;
        self.list.push(entry);
    }

    fn newcomer(&self, flow: u64, place: usize) -> Cached {
        let before = rounded(self.fresh * self.samplings_before);
        Cached { flow, hits: 0.0, fraction: 0.0, before, place }
    }

    /// Psi(t - 1) of eq. (2), for this flow.
    fn before(&self, e: &Cached) -> f64 {
        if self.fresh < 1.0 { e.before } else { self.samplings_before }
    }

    /// The place of the flow that makes room, for `flow`.
    fn replaced(&mut self, flow: u64) -> Cached {
        let key = |e: &Cached| match self.room {
            Room::Oldest => (0.0, 0.0, 0),
            Room::Least => (e.fraction, e.hits, e.place),
            Room::SpaceSaving => (e.hits + e.fraction * self.before(e), 0.0, e.place),
        };
        let keys: Vec<_> = self.list.iter().map(key).collect();
        let least = keys.iter().copied().reduce(|a, b| if b < a { b } else { a }).unwrap();
        let gone = self.list.remove(keys.iter().position(|&k| k == least).unwrap());
        match self.room {
            Room::Oldest | Room::Least => self.newcomer(flow, gone.place),
            Room::SpaceSaving => Cached { flow, ..gone },
        }
    }

    /// Omega of a flow, 0 for one that is not in the cache.
    pub fn fraction(&self, flow: u64) -> f64 {
        self.list.iter().find(|e| e.flow == flow).map_or(0.0, |e| e.fraction)
    }

    /// Eq. (2), with its plus signs.
    pub fn end_of_period(&mut self) {
        let befores: Vec<f64> = self.list.iter().map(|e| self.before(e)).collect();
        for (entry, before) in self.list.iter_mut().zip(befores) {
            let both = before + self.samplings;
            // With no sampling it stays; worked out, it would lose digits when the past is next to
            // nothing.
            if self.samplings > 0.0 {
                entry.fraction = (entry.hits + entry.fraction * before) / both;
            }
            entry.hits = 0.0;
            entry.before = rounded(self.samplings + self.past * before);
        }
        self.samplings_before = self.samplings + self.past * self.samplings_before;
        self.samplings = 0.0;
    }
}

/// As a machine keeps it in four bytes.
fn rounded(x: f64) -> f64 {
    x as f32 as f64
}
