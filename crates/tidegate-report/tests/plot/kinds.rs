//! What each kind draws.
use tidegate_report::plot::{Plot, PlotKind, Scale};
use tidegate_report::tidy::Tidy;

use super::seen::{Seen, number, points};
use super::table::{numbers, over_seeds, plot, seeds, texts, throughputs};
use super::{close, drawn};

/// Half the interval of (1, 2, 3, 4): Student's 3.182446 with 3 degrees of freedom, times the
/// standard deviation √(5/3), over √4.
const HALF: f64 = 3.182_446 * 1.290_994 / 2.0;

#[test]
fn lines_stand_at_the_means_and_whiskers_end_with_the_intervals() {
    let picture = drawn(&plot(PlotKind::Lines, "network.delay", "throughput_bps"), &throughputs());
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let (across, upwards) = (seen.across(panel, false), seen.upwards(panel, false));
    let red = seen.series(panel, "red");
    let paths: Vec<Vec<(f64, f64)>> =
        red.iter().filter(|n| n.has_tag_name("path")).map(|n| points(*n)).collect();
    let line = paths.iter().find(|path| path.len() == 3).expect("three points are joined");
    for (k, at) in line.iter().enumerate() {
        close(across.value(at.0), [10.0, 20.0, 50.0][k], 0.01);
        close(upwards.value(at.1), 2.5 * (k + 1) as f64, 0.005);
    }
    let whiskers: Vec<_> = paths
        .iter()
        .filter(|path| path.len() == 6 && path[0].0 == path[1].0)
        .map(|path| [upwards.value(path[0].1), upwards.value(path[1].1)])
        .collect();
    assert_eq!(whiskers.len(), 3);
    for (k, [low, high]) in whiskers.into_iter().enumerate() {
        let step = (k + 1) as f64;
        close(low, step * (2.5 - HALF), 0.005);
        close(high, step * (2.5 + HALF), 0.005);
    }
    let sfb = seen.series(panel, "sfb");
    let squares = sfb.iter().filter(|n| n.attribute("fill") == Some("#d55e00"));
    for square in squares {
        let corners = points(*square);
        close(upwards.value((corners[0].1 + corners[2].1) / 2.0), 6.0, 0.005);
    }
    assert_eq!(sfb.len(), 4, "a line and three markers: no interval without spread");
}

#[test]
fn on_a_logarithmic_axis_equal_factors_are_equal_lengths() {
    let plot = Plot {
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        ..plot(PlotKind::Lines, "network.delay", "throughput_bps")
    };
    let picture = drawn(&plot, &throughputs());
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let (across, upwards) = (seen.across(panel, true), seen.upwards(panel, true));
    let red = seen.series(panel, "red");
    let line = red.iter().filter(|n| n.has_tag_name("path")).map(|n| points(*n));
    let line = line.into_iter().find(|path| path.len() == 3).expect("three points are joined");
    for (k, at) in line.iter().enumerate() {
        close(across.value(at.0), [10.0, 20.0, 50.0][k], 0.01);
        close(upwards.value(at.1), 2.5 * (k + 1) as f64, 0.01);
    }
    close((line[1].0 - line[0].0) / (line[2].0 - line[0].0), 2f64.log10() / 5f64.log10(), 1e-3);
}

#[test]
fn a_box_has_median_quartiles_whiskers_and_what_is_outside() {
    let table = over_seeds("throughput_bps", "bit/s", &[3e6, 1e6, 20e6, 2e6, 4e6]);
    let picture = drawn(&plot(PlotKind::Box, "queue", "throughput_bps"), &table);
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let upwards = seen.upwards(panel, false);
    let series = seen.series(panel, "red");
    // Sorted 1, 2, 3, 4, 20: quartiles 2, 3, 4, whiskers within 2 − 3 and 4 + 3, 20 outside.
    let rect = series.iter().find(|n| n.has_tag_name("rect")).expect("a box");
    close(upwards.value(number(*rect, "y")), 4.0, 0.02);
    close(upwards.value(number(*rect, "y") + number(*rect, "height")), 2.0, 0.02);
    let heights: Vec<f64> = series
        .iter()
        .filter(|n| n.has_tag_name("path"))
        .flat_map(|n| points(*n))
        .map(|at| upwards.value(at.1))
        .collect();
    for (height, what) in [(1.0, "lower whisker"), (3.0, "median"), (4.0, "upper whisker")] {
        assert!(heights.iter().any(|h| (h - height).abs() < 0.02), "{what}: {heights:?}");
    }
    let outside: Vec<_> = series.iter().filter(|n| n.has_tag_name("ellipse")).collect();
    assert_eq!(outside.len(), 1);
    close(upwards.value(number(*outside[0], "cy")), 20.0, 0.02);
    let mean = series.iter().find(|n| n.has_tag_name("circle")).expect("a marker at the mean");
    close(upwards.value(number(*mean, "cy")), 6.0, 0.02);
}

#[test]
fn a_strip_has_a_point_for_each_seed_and_the_median() {
    let values = [3.0, 1.0, 8.0, 2.0];
    let table = over_seeds("delay_ms_mean", "ms", &values);
    let picture = drawn(&plot(PlotKind::Strip, "queue", "delay_ms_mean"), &table);
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let upwards = seen.upwards(panel, false);
    let series = seen.series(panel, "red");
    let points_: Vec<_> = series.iter().filter(|n| n.has_tag_name("circle")).collect();
    assert_eq!(points_.len(), values.len());
    for (point, value) in points_.iter().zip(values) {
        close(upwards.value(number(**point, "cy")), value, 0.01);
    }
    let median = series.iter().find(|n| n.has_tag_name("path")).expect("a line at the median");
    close(upwards.value(points(*median)[0].1), 2.5, 0.01);
}

#[test]
fn a_distribution_rises_at_each_value() {
    let picture = drawn(
        &plot(PlotKind::Cdf, "delay_ms_mean", ""),
        &over_seeds("delay_ms_mean", "ms", &[4.0, 1.0, 2.0, 2.0]),
    );
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let (across, upwards) = (seen.across(panel, false), seen.upwards(panel, false));
    let line = points(seen.series(panel, "red")[0]);
    let steps: Vec<(f64, f64)> =
        line.iter().map(|at| (across.value(at.0), upwards.value(at.1))).collect();
    let wanted = [(1.0, 0.0), (1.0, 0.25), (2.0, 0.25), (2.0, 0.75), (4.0, 0.75), (4.0, 1.0)];
    for (x, y) in wanted {
        let there = |at: &(f64, f64)| (at.0 - x).abs() < 0.01 && (at.1 - y).abs() < 0.01;
        assert!(steps.iter().any(there), "({x}, {y}) is not in {steps:?}");
    }
    assert!(steps.windows(2).all(|two| two[0].0 <= two[1].0 + 1e-9), "{steps:?}");
}

#[test]
fn an_ellipse_is_where_the_covariance_has_one_standard_deviation() {
    // Means 20 and 3; variances 100 and 1, covariance 5: the inverse is (1, −5; −5, 100) / 75.
    let columns = vec![
        texts("queue", &["red"; 3]),
        seeds(&[1, 2, 3]),
        numbers("delay_ms_mean", "ms", &[10.0, 20.0, 30.0]),
        numbers("throughput_bps", "bit/s", &[2e6, 4e6, 3e6]),
    ];
    let picture = drawn(&Plot::new("test", PlotKind::Ellipses), &Tidy { columns });
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let (across, upwards) = (seen.across(panel, false), seen.upwards(panel, false));
    let series = seen.series(panel, "red");
    let ellipse = *series.iter().find(|n| n.has_tag_name("ellipse")).expect("an ellipse");
    let [x, y, a, b] = ["cx", "cy", "rx", "ry"].map(|name| number(ellipse, name));
    close(across.value(x), 20.0, 0.02);
    close(upwards.value(y), 3.0, 0.005);
    let turn = ellipse.attribute("transform").unwrap();
    let turn: f64 = turn["rotate(".len()..].split(' ').next().unwrap().parse().unwrap();
    let (sin, cos) = turn.to_radians().sin_cos();
    for step in 0..8 {
        let (up, along) = (f64::from(step) * std::f64::consts::FRAC_PI_4).sin_cos();
        let (dx, dy) = (a * along * cos - b * up * sin, a * along * sin + b * up * cos);
        let (u, v) = (across.value(x + dx) - 20.0, upwards.value(y + dy) - 3.0);
        close((u * u - 10.0 * u * v + 100.0 * v * v) / 75.0, 1.0, 0.01);
    }
}

#[test]
fn a_heat_map_shades_the_means() {
    let columns = vec![
        numbers("network.delay", "s", &[0.01, 0.01, 0.02, 0.02, 0.01, 0.02]),
        numbers("network.rate", "bit/s", &[1e6, 1e6, 1e6, 1e6, 2e6, 2e6]),
        seeds(&[1, 2, 1, 2, 1, 1]),
        numbers("share", "", &[0.1, 0.3, 0.5, 0.7, 0.0, 1.0]),
    ];
    let plot =
        Plot { z: Some("share".into()), ..plot(PlotKind::Heat, "network.delay", "network.rate") };
    let picture = drawn(&plot, &Tidy { columns });
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let cells: Vec<_> = panel
        .descendants()
        .filter(|n| n.has_tag_name("rect") && n.attribute("stroke") == Some("#fff"))
        .map(|n| (number(n, "x"), number(n, "y"), n.attribute("fill").unwrap()))
        .collect();
    let numbers_: Vec<String> = Seen::texts(panel).into_iter().map(|text| text.text).collect();
    for mean in ["0.20", "0.60", "0.00", "1.00"] {
        assert!(numbers_.iter().any(|text| text == mean), "{mean} is not in {numbers_:?}");
    }
    let of = |fill: &str| *cells.iter().find(|cell| cell.2 == fill).expect(fill);
    let (least, most) = (of("#440154"), of("#fde725"));
    let least_rate = cells.iter().map(|cell| cell.1).fold(0.0, f64::max);
    assert!(least.0 < most.0, "10 ms stands left of 20 ms");
    assert!(least.1 < least_rate && least.1 == most.1, "2 Mbit/s stands above 1 Mbit/s");
    assert!(seen.words().contains(&"rate (Mbit/s)".to_string()));
}
