//! The plots of a study: what its file may say of them, and where it is wrong.
use tidegate_lab::study::Study;
use tidegate_report::plot::{Filter, Format, PlotKind, Rows, Scale, Wanted};

const STUDY: &str = "scenario = \"flood\"\nqueues = [\"red\", \"sfb as SFB\"]\nflows = true\n\
    [axes]\nnetwork.delay = [\"5 ms\", \"20 ms\"]\ngroup.tcp.count = [5, 10]\n[[plot]]\n";

fn parse(plot: &str) -> Result<Study, String> {
    let text = format!("{STUDY}{plot}");
    Study::parse(text.as_bytes(), "s.toml").map_err(|problems| problems.to_string())
}

/// What is said of a plot that is wrong, without the lines that it shows.
fn refused(plot: &str) -> Vec<String> {
    let said = parse(plot).expect_err(plot);
    said.lines().filter(|line| line.starts_with("s.toml")).map(String::from).collect()
}

#[test]
fn everything_that_a_plot_can_say() {
    let study = parse(
        "name = \"rates\"\nkind = \"lines\"\nrows = \"groups\"\nx = \"network.delay\"\n\
         y = \"throughput_bps\"\ncolour = \"group\"\nfacet = [\"queue\", \"group.tcp.count\"]\n\
         pool = \"scenario\"\ngroup = [\"tcp\", \"flood\"]\nx_scale = \"logarithmic\"\n\
         y_scale = \"linear\"\ntitle = \"Rates\"\nx_label = \"one way\"\ny_label = \"each\"\n\
         width = \"7 in\"\nheight = \"6 cm\"\nfont = \"Times\"\nfont_size = \"2 mm\"\n\
         formats = [\"pdf\", \"svg\", \"pdf\"]\n\
         where = { queue = \"SFB\", \"network.delay\" = [\"0.005 s\", \"20 ms\"] }\n",
    );
    let study = study.unwrap_or_else(|problems| panic!("{problems}"));
    let plot = &study.plots[0];
    assert_eq!(
        (plot.name.as_str(), plot.kind, plot.rows),
        ("rates", PlotKind::Lines, Rows::Groups)
    );
    let axes: Vec<_> = plot.columns().collect();
    assert_eq!(axes, [("x", "network.delay"), ("y", "throughput_bps")]);
    assert_eq!(plot.colour.as_deref(), Some("group"));
    assert_eq!((plot.facets.len(), plot.pooled.as_slice()), (2, &["scenario".to_string()][..]));
    assert_eq!((plot.x_scale, plot.y_scale), (Scale::Log, Scale::Linear));
    assert!((plot.width_mm - 177.8).abs() < 1e-9 && plot.height_mm == Some(60.0), "{plot:?}");
    assert!((plot.font_size_pt - 2.0 * 72.0 / 25.4).abs() < 1e-9, "{plot:?}");
    assert_eq!(plot.formats, [Format::Pdf, Format::Svg]);
    let text = |text: &str| Wanted::Text(text.into());
    let filter =
        |column: &str, values: &[Wanted]| Filter { column: column.into(), values: values.to_vec() };
    let filters = [
        filter("group", &[text("tcp"), text("flood")]),
        filter("queue", &[text("SFB")]),
        filter("network.delay", &[Wanted::Number(0.005), Wanted::Number(0.02)]),
    ];
    assert_eq!(plot.filters, filters);
    for column in ["network.delay", "seed", "group", "throughput_bps", "scenario", "queue"] {
        assert!(study.draws(column), "{column}");
    }
    assert!(!study.draws("loss_ratio") && !study.draws("link_jain"));
}

#[test]
fn a_path_of_where_may_be_written_without_quotes() {
    let plot = "name = \"a\"\nkind = \"box\"\ny = \"share\"\nwhere = { group.tcp.count = 5 }\n";
    let study = parse(plot).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(study.plots[0].filters[0].column, "group.tcp.count");
    assert_eq!(study.plots[0].filters[0].values, [Wanted::Number(5.0)]);
}

#[test]
fn what_goes_in_step_is_pooled_together() {
    let step = "way.set = { network.delay = [\"5 ms\"], network.access_delay = [\"2 ms\"] }";
    let text = STUDY.replace("network.delay = [\"5 ms\", \"20 ms\"]", step);
    let pooled = |pool: &str| {
        let plot = format!("name = \"a\"\nkind = \"box\"\ny = \"share\"\npool = \"{pool}\"\n");
        Study::parse(format!("{text}{plot}").as_bytes(), "s.toml").unwrap().plots[0].pooled.clone()
    };
    assert_eq!(pooled("network.access_delay"), ["network.access_delay", "network.delay"]);
    assert_eq!(pooled("group.tcp.count"), ["group.tcp.count"]);
}

const LINES: &str = "name = \"a\"\nkind = \"lines\"\n";

/// Checks that each plot is refused with these words at this place.
fn each_is_refused(all: &[(String, &str)]) {
    for (plot, said) in all {
        let found = refused(plot);
        assert!(
            found.iter().any(|line| line.starts_with(&format!("s.toml:{said}"))),
            "{plot}\n{said}\n{found:#?}"
        );
    }
}

#[test]
fn what_is_wrong_has_its_place_and_what_was_meant() {
    each_is_refused(&[
        ("kind = \"lines\"\n".into(), "7:1: plot.name: this key is required"),
        ("name = \"a b\"\nkind = \"lines\"\n".into(), "8:9: plot.name = a b: must be a name"),
        ("name = \"a\"\n".into(), "7:1: plot.kind: this key is required: one of lines, heat, cdf"),
        (
            "name = \"a\"\nkind = \"line\"\n".into(),
            "9:9: plot.kind = line: must be one of lines, heat, cdf, box, strip, ellipses; did you \
             mean `lines`?",
        ),
        (LINES.into(), "7:1: plot.x: this key is required: a setting: scenario, network.delay"),
        (
            format!("{LINES}x = \"network.dely\"\ny = \"share\"\n"),
            "10:6: plot.x = network.dely: no such column; must be a setting: scenario, \
             network.delay, group.tcp.count, queue, group, conduct; did you mean `network.delay`?",
        ),
        (
            format!("{LINES}x = \"share\"\ny = \"share\"\n"),
            "10:6: plot.x = share: is measured; must be a setting",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"troughput_bps\"\n"),
            "11:6: plot.y = troughput_bps: no such column; must be a figure, such as share, \
             throughput_bps or link_queue_delay_ms_mean; did you mean `throughput_bps`?",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nz = \"share\"\n"),
            "12:6: plot.z = share: lines has no such axis",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nx_scale = \"logarithmic\"\n"),
            "12:12: plot.x_scale = logarithmic: lines has no axis of numbers here",
        ),
    ]);
}

#[test]
fn values_that_cannot_be_have_their_place_and_what_was_meant() {
    each_is_refused(&[
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nwidht = \"80 mm\"\n"),
            "12:1: plot.widht: no such key; a plot knows",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nwidth = \"80\"\n"),
            "12:10: plot.width = 80: must be a length in mm, cm, in or pt from 20 mm to 1000 mm",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nformats = [\"svg\", \"pfd\"]\n"),
            "12:20: plot.formats = pfd: must be some of svg, pdf, png; did you mean `pdf`?",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nfacet = [\"queue\", \"seed\"]\n"),
            "12:20: plot.facet = seed: is measured; must be a setting",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nwhere = {{ queue = \"sfb\" }}\n"),
            "12:20: plot.where.queue = sfb: no cell has this value; known are red, SFB; did you \
             mean `SFB`?",
        ),
        (
            format!("{LINES}x = \"queue\"\ny = \"share\"\nwhere = {{ network.delay = 5 }}\n"),
            "12:27: plot.where.network.delay = 5: must be a number with a unit of time, as in \
             \"20 ms\"",
        ),
        (
            format!(
                "{LINES}x = \"queue\"\ny = \"share\"\nwhere = {{ network.delay = \"6 ms\" }}\n"
            ),
            "12:28: plot.where.network.delay = 6 ms: no cell has this value",
        ),
    ]);
}

#[test]
fn plots_of_flows_need_flows_and_names_differ() {
    let plot = "name = \"a\"\nkind = \"cdf\"\nrows = \"flows\"\nx = \"goodput_bps\"\n";
    assert_eq!(parse(plot).unwrap_or_else(|said| panic!("{said}")).plots[0].rows, Rows::Flows);
    let text = format!("{STUDY}{plot}").replace("flows = true\n", "");
    let said = Study::parse(text.as_bytes(), "s.toml").unwrap_err().to_string();
    assert!(said.starts_with("s.toml:9:9: plot.rows = flows: flows are not kept"), "{said}");
    let twice = format!("{plot}[[plot]]\n{plot}");
    assert!(refused(&twice)[0].contains("plot.name = a: another plot has this name"));
}

/// The manual's page and the study that its pictures come from.
#[test]
fn the_manual_has_a_picture_of_every_kind() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/study/plots");
    let study = Study::open(&std::path::Path::new(folder).join("flood.toml"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let kinds: Vec<&str> = study.plots.iter().map(|plot| plot.kind.name()).collect();
    assert!(PlotKind::ALL.iter().all(|kind| kinds.contains(&kind.name())), "{kinds:?}");
    for plot in &study.plots {
        let file = format!("{folder}/{}.svg", plot.name);
        let size = std::fs::metadata(&file).unwrap_or_else(|error| panic!("{file}: {error}")).len();
        assert!(size < 30_000, "{file} has {size} bytes");
    }
}
