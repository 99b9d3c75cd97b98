use proptest::prelude::*;

use super::*;

fn extent(values: &[f64]) -> Extent {
    let mut extent = Extent::default();
    values.iter().for_each(|value| extent.add(*value));
    extent
}

fn unit() -> Unit {
    Unit { factor: 1.0, name: String::new() }
}

fn numbers(values: &[f64], scale: Scale, set: &[f64]) -> Numbers {
    Numbers::new(extent(values), scale, unit(), set.to_vec())
}

fn axis(values: &[f64], scale: Scale) -> PlotAxis {
    PlotAxis::Numbers(numbers(values, scale, &[]))
}

/// What must hold of any ticks: they rise, lie on the axis, and say different numbers. Each stands
/// where it says.
#[track_caller]
fn sound(ticks: &[AxisTick], axis: &PlotAxis) {
    assert!(!ticks.is_empty(), "{axis:?}");
    for tick in ticks {
        assert!((-1e-9..=1.0 + 1e-9).contains(&tick.place), "{tick:?} is off {axis:?}");
        let value: f64 = tick.text.parse().unwrap_or_else(|_| panic!("{tick:?}"));
        let place = axis.place(value);
        assert!((place - tick.place).abs() < 2e-3, "{tick:?} belongs to {place} on {axis:?}");
    }
    for two in ticks.windows(2) {
        assert!(two[0].place < two[1].place && two[0].text != two[1].text, "{two:?} on {axis:?}");
    }
}

/// Two values that are not the same: from tiny to huge, of any sign, near each other or far apart.
fn two_values() -> impl Strategy<Value = [f64; 2]> {
    let apart = prop_oneof![-12.0..0.0f64, Just(1.0), 0.0..3.0f64];
    (-9.0..12.0f64, apart, any::<bool>(), any::<bool>()).prop_map(|(size, apart, below, minus)| {
        let (first, step) = (10f64.powf(size), 10f64.powf(size + apart.max(-5.0)));
        let second = if below { first - step } else { first + step };
        if minus { [-first, -second] } else { [first, second] }
    })
}

proptest! {
    #[test]
    fn a_place_of_the_even_measure_leads_back_to_its_value(
        power in -90.0..90.0f64,
        sign in any::<bool>(),
    ) {
        let value = 10f64.powf(power);
        let back = Scale::Log.back(Scale::Log.even(value));
        prop_assert!((back / value - 1.0).abs() < 1e-12, "{value} becomes {back}");
        let value = if sign { value } else { -value };
        prop_assert_eq!(Scale::Linear.back(Scale::Linear.even(value)), value);
    }

    #[test]
    fn what_was_taken_in_has_a_place(values in prop::collection::vec(-1e9..1e9f64, 1..9)) {
        let linear = axis(&values, Scale::Linear);
        let log: Vec<f64> = values.iter().map(|value| value.abs() + 1e-6).collect();
        let logarithmic = axis(&log, Scale::Log);
        for (value, positive) in values.iter().zip(&log) {
            for place in [linear.place(*value), logarithmic.place(*positive)] {
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{value}: {place}");
            }
        }
    }

    #[test]
    fn greater_values_stand_farther_along(two in two_values(), at in 0.1..0.9f64) {
        let [low, high] = if two[0] < two[1] { two } else { [two[1], two[0]] };
        let between = low + at * (high - low);
        let linear = axis(&[low, high], Scale::Linear);
        prop_assert!(linear.place(low) < linear.place(between));
        prop_assert!(linear.place(between) < linear.place(high));
        if low > 0.0 {
            let log = axis(&[low, high], Scale::Log);
            prop_assert!(log.place(low) < log.place(between));
            prop_assert!(log.place(between) < log.place(high));
        }
    }

    #[test]
    fn ticks_across_say_what_is_there_and_keep_apart(two in two_values(), length in 6.0..80.0f64) {
        for scale in [Scale::Linear, Scale::Log] {
            if scale == Scale::Log && two.iter().any(|value| *value <= 0.0) {
                continue;
            }
            let axis = axis(&two, scale);
            let ticks = axis.across(length);
            sound(&ticks, &axis);
            let ends = |tick: &AxisTick| {
                let half = width_of(&tick.text) / 2.0;
                (tick.place * length - half, tick.place * length + half)
            };
            for two in ticks.windows(2) {
                prop_assert!(ends(&two[0]).1 < ends(&two[1]).0, "{two:?} overlap within {length}");
            }
        }
    }

    #[test]
    fn ticks_upwards_keep_a_line_apart_and_are_two_at_least(
        two in two_values(),
        length in 9.0..60.0f64,
    ) {
        for scale in [Scale::Linear, Scale::Log] {
            if scale == Scale::Log && two.iter().any(|value| *value <= 0.0) {
                continue;
            }
            let axis = axis(&two, scale);
            let ticks = axis.upwards(length);
            sound(&ticks, &axis);
            prop_assert!(ticks.len() > 1, "{ticks:?} of {axis:?} within {length}");
            for two in ticks.windows(2) {
                let gap = (two[1].place - two[0].place) * length;
                prop_assert!(gap >= 1.2, "{two:?} within {length}");
            }
        }
    }

    #[test]
    fn minor_ticks_rise_within_the_axis(two in two_values()) {
        prop_assert!(axis(&two, Scale::Linear).minor().is_empty());
        if two.iter().all(|value| *value > 0.0) {
            let minor = axis(&two, Scale::Log).minor();
            prop_assert!(minor.windows(2).all(|two| two[0] < two[1]), "{minor:?}");
            prop_assert!(minor.iter().all(|place| (0.0..=1.0).contains(place)), "{minor:?}");
        }
    }
}

/// A margin of a twentieth beyond the greatest value; below, zero where the least is half of the
/// greatest or less, and nothing was set.
#[test]
fn an_axis_begins_at_zero_where_that_costs_no_more_than_half() {
    let ends = |values: &[f64], set: &[f64]| numbers(values, Scale::Linear, set).ends();
    for (values, low, high) in [
        ([4.0, 8.0], 0.0, 8.2),
        ([0.0, 8.0], 0.0, 8.4),
        ([5.0, 8.0], 4.85, 8.15),
        ([-1.0, 3.0], -1.2, 3.2),
        ([-3.0, -1.0], -3.1, -0.9),
    ] {
        let [from, to] = ends(&values, &[]);
        assert!((from - low).abs() < 1e-12 && (to - high).abs() < 1e-12, "{values:?}: {from} {to}");
    }
    let [from, _] = ends(&[4.0, 8.0], &[4.0, 8.0]);
    assert!((from - 3.8).abs() < 1e-12, "a setting needs no zero: {from}");
    let [from, to] = numbers(&[1.0, 100.0], Scale::Log, &[]).ends();
    assert!((from - 10f64.powf(-0.1)).abs() < 1e-12 && (to - 10f64.powf(2.1)).abs() < 1e-9);
}

#[test]
fn the_same_value_throughout_stands_in_the_middle_of_an_axis_with_ticks() {
    for (value, scale) in [
        (7.0, Scale::Linear),
        (-7.0, Scale::Linear),
        (1e-9, Scale::Linear),
        (7.0, Scale::Log),
        (1e9, Scale::Log),
    ] {
        let axis = axis(&[value; 3], scale);
        assert!((axis.place(value) - 0.5).abs() < 1e-9, "{value}: {}", axis.place(value));
        sound(&axis.upwards(20.0), &axis);
        assert!(axis.upwards(20.0).len() > 1, "{value}");
    }
    let zero = axis(&[0.0; 3], Scale::Linear);
    assert_eq!(zero.place(0.0), 0.0, "nothing stands on the axis' foot");
    sound(&zero.upwards(20.0), &zero);
}

#[test]
fn without_a_value_or_with_none_that_fits_an_axis_is_still_one() {
    for (values, scale) in [
        (&[][..], Scale::Linear),
        (&[], Scale::Log),
        (&[-5.0, 5.0], Scale::Log),
        (&[-5.0, -1.0], Scale::Log),
        (&[0.0, 10.0], Scale::Log),
        (&[f64::NAN, f64::INFINITY, 1e100, -1e300], Scale::Linear),
    ] {
        let axis = axis(values, scale);
        let PlotAxis::Numbers(numbers) = &axis else { panic!("an axis of numbers") };
        let [low, high] = numbers.ends();
        assert!(low.is_finite() && high.is_finite() && low < high, "{values:?}: {low} {high}");
        sound(&axis.upwards(20.0), &axis);
        sound(&axis.across(40.0), &axis);
    }
}

#[test]
fn only_quantities_are_taken_in() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e100, -1e101];
    assert!(extent(&odd).is_empty());
    assert_eq!(extent(&odd).size(Scale::Linear), 0.0);
    assert!(odd.iter().all(|value| !Scale::Linear.holds(*value) && !Scale::Log.holds(*value)));
    assert!(Scale::Linear.holds(-1.0) && Scale::Linear.holds(0.0) && Scale::Log.holds(1e-99));
    assert!(!Scale::Log.holds(0.0) && !Scale::Log.holds(-1.0));
    let some = extent(&[-9.0, 4.0, f64::NAN]);
    assert!(!some.is_empty());
    assert_eq!(some.size(Scale::Linear), 9.0, "the greater of both sides");
    assert_eq!(extent(&[1.0, 100.0]).size(Scale::Log), 10.0, "the middle by factors");
}

/// Settings are the best ticks, as long as there is room for all of them.
#[test]
fn what_was_set_is_on_the_axis() {
    let set = [10.0, 20.0, 50.0, 100.0];
    let axis = PlotAxis::Numbers(numbers(&[10.0, 100.0], Scale::Linear, &set));
    let texts = |ticks: Vec<AxisTick>| ticks.into_iter().map(|tick| tick.text).collect::<Vec<_>>();
    assert_eq!(texts(axis.across(60.0)), ["10", "20", "50", "100"]);
    // In a fifth of the room 10 and 20 would touch: even steps take their place.
    let few = texts(axis.across(12.0));
    assert!(!few.contains(&"20".into()) || !few.contains(&"10".into()), "{few:?}");
    assert!(few.len() > 1, "{few:?}");
    let outside = numbers(&[10.0, 20.0], Scale::Linear, &set);
    assert_eq!(texts(PlotAxis::Numbers(outside).across(60.0)), ["10", "20"], "50 is off the axis");
}

#[test]
fn a_logarithmic_axis_has_whole_decades_and_within_one_more() {
    let texts = |values: &[f64]| -> Vec<String> {
        axis(values, Scale::Log).upwards(20.0).into_iter().map(|tick| tick.text).collect()
    };
    assert_eq!(texts(&[1.0, 1000.0]), ["1", "3", "10", "30", "100", "300", "1000"]);
    assert_eq!(
        texts(&[1.0, 1e8]),
        ["1", "10", "100", "1000", "10000", "100000", "1e6", "1e7", "1e8"]
    );
    assert_eq!(texts(&[1.0, 20.0]), ["1", "2", "5", "10", "20"]);
    // A decade's other leads have a mark, beyond six decades none.
    assert_eq!(axis(&[1.0, 10.0], Scale::Log).minor().len(), 11, "0.9, 1 to 9, 10");
    assert!(axis(&[1.0, 1e7], Scale::Log).minor().is_empty());
}

#[test]
fn values_near_each_other_have_ticks_that_differ() {
    for values in [[0.999_91, 0.999_95], [12_345.0, 12_350.0], [1e6 + 1.0, 1e6 + 4.0]] {
        let axis = axis(&values, Scale::Linear);
        sound(&axis.upwards(20.0), &axis);
        sound(&axis.across(60.0), &axis);
    }
    let set = [10_001.0, 10_002.0, 10_003.0];
    let axis = PlotAxis::Numbers(numbers(&set, Scale::Linear, &set));
    let texts: Vec<String> = axis.across(60.0).into_iter().map(|tick| tick.text).collect();
    assert_eq!(texts, ["10001", "10002", "10003"]);
}

#[test]
fn ticks_are_in_the_unit_of_the_axis() {
    let unit = Unit::of("bit/s", 40e6);
    let axis = PlotAxis::Numbers(Numbers::new(extent(&[0.0, 40e6]), Scale::Linear, unit, vec![]));
    let texts: Vec<String> = axis.upwards(20.0).into_iter().map(|tick| tick.text).collect();
    assert_eq!(texts, ["0", "10", "20", "30", "40"]);
    assert!((axis.place(21e6) - 0.5).abs() < 1e-12, "42 Mbit/s is the end");
}

#[test]
fn levels_have_equal_places_and_all_have_their_names() {
    let names = ["red", "a very long name indeed", "sfb", "drr"].map(String::from);
    let axis = PlotAxis::Levels(names.to_vec());
    let places: Vec<f64> = (0..4).map(|level| axis.level(level)).collect();
    assert_eq!(places, [0.125, 0.375, 0.625, 0.875]);
    assert_eq!(axis.place(2.0), 0.625);
    for ticks in [axis.across(5.0), axis.upwards(1.0)] {
        let found: Vec<&str> = ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(found, names, "no level is without its name, whatever the room");
    }
    assert!(axis.minor().is_empty());
    assert!(PlotAxis::Levels(vec![]).across(5.0).is_empty());
    assert_eq!(PlotAxis::Numbers(Numbers::between(0.0, 1.0)).level(3), 0.0);
}

#[test]
fn a_tight_axis_has_nothing_beyond_its_values() {
    let values = [2.0, 6.0];
    let tight = numbers(&values, Scale::Linear, &[]).tight(extent(&values));
    assert_eq!(tight.ends(), values);
    assert_eq!((tight.place(2.0), tight.place(4.0), tight.place(6.0)), (0.0, 0.5, 1.0));
    assert_eq!(tight.stretch(), 0.25);
    let one = numbers(&[3.0], Scale::Linear, &[]);
    let ends = one.ends();
    assert_eq!(one.tight(extent(&[3.0])).ends(), ends, "of one value there is nothing to tighten");
    assert_eq!(Numbers::between(0.0, 1.0).ends(), [0.0, 1.0]);
}
