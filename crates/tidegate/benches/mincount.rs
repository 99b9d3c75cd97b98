//! What counting a flow costs: MINCOUNT at the paper's (m, k) = (1024, 3), per element.
//!
//! Flows are drawn beforehand: few, as many as the minima, and many. Buckets are never full, or
//! every second value is in doubt, or they refuse nearly all. The sketch is a warm one, as within a
//! period.
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate::parts::mincount::{Estimator, MinCount};
use tidegate::{Rng, rng};

/// Elements of one iteration: of 8 bytes, so they stay near.
const BATCH: usize = 1 << 14;

fn mincount(c: &mut Criterion) {
    let mut group = c.benchmark_group("mincount 1024 x 3");
    group.throughput(Throughput::Elements(BATCH as u64));
    for among in [100, 1_000, 3_000, 10_000, 1_000_000] {
        let mut dice = Rng::from_seed(7);
        let mut sketch = MinCount::new(1024, 3, Estimator::Auto, 0x5eed);
        (0..among).for_each(|flow| sketch.add(rng::mix(flow)));
        let flows: Vec<u64> = (0..BATCH).map(|_| rng::mix(dice.below(among))).collect();
        group.bench_function(format!("{among} flows"), |b| {
            b.iter(|| flows.iter().for_each(|&flow| sketch.add(flow)))
        });
    }
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_millis(700))
        .sample_size(30)
        .without_plots()
}

criterion_group! { name = benches; config = short(); targets = mincount }
criterion_main!(benches);
