//! Tables for the tests.
use std::sync::Arc;

use tidegate_report::plot::{Filter, Plot, PlotKind, Wanted};
use tidegate_report::tidy::{Column, Tidy, Values};

/// A column of numbers.
pub fn numbers(name: &str, unit: &str, values: &[f64]) -> Column {
    Column::new(name, unit, "", Values::Number(values.iter().copied().map(Some).collect()))
}

/// A column of texts.
pub fn texts(name: &str, values: &[&str]) -> Column {
    Column::new(name, "", "", Values::Text(values.iter().map(|t| Some(Arc::from(*t))).collect()))
}

/// A column of seeds.
pub fn seeds(values: &[i64]) -> Column {
    Column::new("seed", "", "", Values::Whole(values.iter().copied().map(Some).collect()))
}

/// A plot with these columns on its axes.
pub fn plot(kind: PlotKind, x: &str, y: &str) -> Plot {
    let told = |name: &str| (!name.is_empty()).then(|| name.to_string());
    Plot { x: told(x), y: told(y), ..Plot::new("test", kind) }
}

/// A filter by one value.
pub fn only(column: &str, value: Wanted) -> Filter {
    Filter { column: column.into(), values: vec![value] }
}

/// Two queues at three delays with four seeds: `red` has (1, 2, 3, 4) Mbit/s times 1, 2, 3 and
/// `sfb` always 6.
pub fn throughputs() -> Tidy {
    let (mut queue, mut delay, mut seed, mut rate) = (vec![], vec![], vec![], vec![]);
    for name in ["red", "sfb"] {
        for (step, at) in [0.01, 0.02, 0.05].into_iter().enumerate() {
            for k in 1..=4 {
                queue.push(name);
                delay.push(at);
                seed.push(k);
                let own = k as f64 * (step + 1) as f64 * 1e6;
                rate.push(if name == "red" { own } else { 6e6 });
            }
        }
    }
    let columns = vec![
        numbers("network.delay", "s", &delay),
        texts("queue", &queue),
        seeds(&seed),
        numbers("throughput_bps", "bit/s", &rate),
    ];
    Tidy { columns }
}

/// Values of one queue, one for each seed.
pub fn over_seeds(name: &str, unit: &str, values: &[f64]) -> Tidy {
    let seed: Vec<i64> = (1..=values.len() as i64).collect();
    let columns =
        vec![texts("queue", &vec!["red"; values.len()]), seeds(&seed), numbers(name, unit, values)];
    Tidy { columns }
}
