//! What a metric is, and what follows from its declaration. That is the field of the document, that
//! of one replication's sample, how samples become the field, and its row in [`Metric`] tables.
use crate::figure::Figure;
use crate::parts::{Counts, Delay, Gaps, OverFlows, OverTime, PerFlow};
use crate::pool::{figure_of_some, part, rare, skewed};

/// A declared metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its field in documents and samples.
    pub name: &'static str,
    /// Its definition in the schema: `ratio`, `rate`, `amount`, `delay`, `gaps` and the like.
    pub shape: &'static str,
    /// Its unit; empty for a pure number.
    pub unit: &'static str,
    /// How replications are taken together.
    pub pool: Pool,
    /// What it is, in one line.
    pub what: &'static str,
    /// Whether it is one figure, and not several.
    pub single: bool,
    /// What the values of one replication are called behind its name.
    pub parts: &'static [&'static str],
}

impl Metric {
    /// The names of its columns in a table of replications: its own, or `name_part` of each part.
    pub fn columns(&self) -> impl Iterator<Item = String> + '_ {
        let of = |part: &&str| match *part {
            "" => self.name.to_string(),
            part => format!("{}_{part}", self.name),
        };
        self.parts.iter().map(of)
    }
}

/// How replications are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Their mean.
    Mean,
    /// Their mean, of events that may be [`rare`].
    Rare,
    /// Their mean, a [`part`] from 0 to 1.
    Part,
    /// Their mean, [`skewed`] from seed to seed.
    Skewed,
    /// Skewed, and of events that may be rare.
    SkewedRare,
    /// Skewed, and a [`part`] from 0 to 1.
    SkewedPart,
    /// Their sum.
    Sum,
}

impl Pool {
    /// What it is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Pool::Mean => "mean",
            Pool::Rare => "mean of rare events",
            Pool::Part => "mean from 0 to 1",
            Pool::Skewed => "skewed mean",
            Pool::SkewedRare => "skewed mean of rare events",
            Pool::SkewedPart => "skewed mean from 0 to 1",
            Pool::Sum => "sum",
        }
    }

    /// Whether values are skewed from seed to seed.
    pub const fn is_skewed(self) -> bool {
        matches!(self, Pool::Skewed | Pool::SkewedRare | Pool::SkewedPart)
    }

    /// The figure of all replications' values.
    pub fn figure(self, values: impl Iterator<Item = Option<f64>>) -> Option<Figure> {
        match self {
            Pool::Mean | Pool::Sum => figure_of_some(values),
            Pool::Rare => figure_of_some(values).map(rare),
            Pool::Part => figure_of_some(values).map(part),
            Pool::Skewed => skewed(values),
            Pool::SkewedRare => skewed(values).map(rare),
            Pool::SkewedPart => skewed(values).map(part),
        }
    }
}

/// A field of a document that is made of one value from each replication.
pub trait Pooled {
    /// The value of one replication.
    type Sample: Clone;
    /// Whether it is one figure.
    const SINGLE: bool = false;
    /// What the values of a replication are called behind the metric's name; one without a name of
    /// its own for a single figure.
    const PARTS: &[&str];

    /// The values of a replication, as many as [`Pooled::PARTS`].
    fn values(sample: &Self::Sample) -> impl Iterator<Item = Option<f64>>;

    /// All replications' values taken together.
    fn pool(samples: impl Iterator<Item = Self::Sample> + Clone, how: Pool) -> Self;

    /// What it holds, as many as [`Pooled::PARTS`].
    fn figures(&self) -> impl Iterator<Item = Option<Figure>>;

    /// Itself, if it is one figure.
    fn figure(&self) -> Option<Figure> {
        None
    }
}

impl Pooled for Option<Figure> {
    type Sample = Option<f64>;
    const SINGLE: bool = true;
    const PARTS: &[&str] = &[""];

    fn values(sample: &Option<f64>) -> impl Iterator<Item = Option<f64>> {
        std::iter::once(*sample)
    }

    fn pool(samples: impl Iterator<Item = Option<f64>> + Clone, how: Pool) -> Self {
        how.figure(samples)
    }

    fn figures(&self) -> impl Iterator<Item = Option<Figure>> {
        std::iter::once(*self)
    }

    fn figure(&self) -> Option<Figure> {
        *self
    }
}

/// Several figures from an array of values.
macro_rules! several {
    ($($name:ident { $($field:ident),+ } $count:literal;)+) => { $(
        impl Pooled for $name {
            type Sample = [Option<f64>; $count];
            const PARTS: &[&str] = &[$(stringify!($field)),+];

            fn values(sample: &Self::Sample) -> impl Iterator<Item = Option<f64>> {
                sample.iter().copied()
            }

            fn pool(samples: impl Iterator<Item = Self::Sample> + Clone, how: Pool) -> Self {
                let mut places = 0..$count;
                let mut next = || {
                    let place = places.next().unwrap_or_default();
                    how.figure(samples.clone().map(move |sample| sample[place]))
                };
                $name { $($field: next()),+ }
            }

            fn figures(&self) -> impl Iterator<Item = Option<Figure>> {
                [$(self.$field),+].into_iter()
            }
        }
    )+ };
}

several! {
    Delay { mean, sd, p50, p95, p99 } 5;
    Gaps { mean, cov } 2;
    OverFlows { mean, sd } 2;
    OverTime { p5, p25, p50, p75, p95 } 5;
    PerFlow { mean, min, max } 3;
}

impl Pooled for Option<Counts> {
    type Sample = Counts;
    const PARTS: &[&str] = &["offered", "delivered", "dropped", "marked"];

    fn values(sample: &Counts) -> impl Iterator<Item = Option<f64>> {
        let Counts { offered, delivered, dropped, marked } = *sample;
        [offered, delivered, dropped, marked].into_iter().map(|count| Some(count as f64))
    }

    fn pool(samples: impl Iterator<Item = Counts> + Clone, _: Pool) -> Self {
        Some(samples.fold(Counts::default(), |a, b| Counts {
            offered: a.offered + b.offered,
            delivered: a.delivered + b.delivered,
            dropped: a.dropped + b.dropped,
            marked: a.marked + b.marked,
        }))
    }

    fn figures(&self) -> impl Iterator<Item = Option<Figure>> {
        let of = |pick: fn(&Counts) -> u64| {
            self.as_ref().and_then(|counts| Figure::exact(pick(counts) as f64))
        };
        [of(|c| c.offered), of(|c| c.delivered), of(|c| c.dropped), of(|c| c.marked)].into_iter()
    }
}

/// Declares what is measured of something: in braces its fields that are no metrics, in brackets
/// its metrics, in the order of the document. A metric is a line
/// `name: Type = shape, "unit", Pool, "what it is";`, behind its serde attributes.
macro_rules! metrics {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, sampled by $sample:ident: $(
            { $( $(#[$plain:meta])* $field:ident: $type:ty, )* }
            [ $(
                $(#[$serde:meta])* $metric:ident: $kind:ty =
                    $shape:ident, $unit:literal, $pool:ident, $what:literal;
            )* ]
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name { $(
            $( $(#[$plain])* pub $field: $type, )*
            $( #[doc = $what] $(#[$serde])* pub $metric: $kind, )*
        )* }

        #[doc = concat!("What one replication says of a [`", stringify!($name), "`].")]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $sample { $( $(
            #[doc = $what] pub $metric: <$kind as $crate::metric::Pooled>::Sample,
        )* )* }

        impl $sample {
            /// The values of all metrics, in the order of their [columns]($crate::Metric::columns).
            pub fn values(&self) -> impl Iterator<Item = Option<f64>> + '_ {
                std::iter::empty()
                    $( $( .chain(<$kind as $crate::metric::Pooled>::values(&self.$metric)) )* )*
            }
        }

        impl $name {
            /// Its metrics, in the order of the document.
            pub const METRICS: &[$crate::Metric] = &[ $( $( $crate::Metric {
                name: stringify!($metric),
                shape: stringify!($shape),
                unit: $unit,
                pool: $crate::Pool::$pool,
                what: $what,
                single: <$kind as $crate::metric::Pooled>::SINGLE,
                parts: <$kind as $crate::metric::Pooled>::PARTS,
            }, )* )* ];

            /// The metrics of all replications; the other fields are left empty.
            pub fn pooled<'s>(samples: impl Iterator<Item = &'s $sample> + Clone) -> $name {
                $name {
                    $( $( $metric: $crate::metric::Pooled::pool(
                        samples.clone().map(|sample| sample.$metric.clone()),
                        $crate::Pool::$pool,
                    ), )* )*
                    ..$name::default()
                }
            }

            /// The figures of all metrics, in the order of their
            /// [columns]($crate::Metric::columns).
            pub fn figures(&self) -> impl Iterator<Item = Option<$crate::Figure>> + '_ {
                std::iter::empty()
                    $( $( .chain($crate::metric::Pooled::figures(&self.$metric)) )* )*
            }

            /// The metric called `name`, if it is one figure and is known.
            pub fn figure(&self, name: &str) -> Option<$crate::Figure> {
                match name {
                    $($(
                        stringify!($metric) => $crate::metric::Pooled::figure(&self.$metric),
                    )*)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use metrics;
