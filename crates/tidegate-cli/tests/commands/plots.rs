//! The plots of a study, from its file to the pictures.
use crate::common::Home;

const STUDY: &str = r#"
scenario = "small.toml"
queues = ["drop_tail", "blue as <BLUE>"]
seeds = 2
[set]
run.duration = "2 s"
[axes]
network.rate = ["1 Mbit/s", "3 Mbit/s"]
[[plot]]
name = "rates"
kind = "lines"
x = "network.rate"
y = "goodput_bps"
group = "tcp"
width = "180 mm"
"#;

#[test]
fn a_study_draws_its_plots_and_draws_them_anew() {
    let home = Home::new();
    home.write("s.toml", STUDY);
    let ran = home.run(&["sweep", "s.toml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let picture = home.read("s.study/rates.svg");
    assert!(picture.contains("width=\"180mm\"") && picture.contains("&lt;BLUE&gt;"), "{picture}");
    assert!(picture.contains(">goodput (Mbit/s)<") && picture.contains(">rate (Mbit/s)<"));
    home.write("s.toml", STUDY.replace("180 mm", "88 mm").replace("\"lines\"", "\"strip\""));
    let again = home.run(&["sweep", "s.toml"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.err.contains("were stored already"), "nothing is run twice: {}", again.err);
    assert!(home.read("s.study/rates.svg").contains("width=\"88mm\""));
}

#[test]
fn what_cannot_be_drawn_is_said_before_anything_runs() {
    let home = Home::new();
    for (change, by, said) in [
        ("group = \"tcp\"", "group = \"tpc\"", "did you mean `tcp`?"),
        ("width", "formats = \"pdf\"\nfont = \"No Such Font\"\nwidth", "has no font"),
        ("goodput_bps", "godput_bps", "s.toml:13:6: plot.y = godput_bps: no such column"),
    ] {
        home.write("s.toml", STUDY.replace(change, by));
        let ran = home.run(&["sweep", "s.toml"]);
        let fonts = said == "has no font" && ran.err.contains("no fonts at all");
        assert!(ran.code == 2 && (ran.err.contains(said) || fonts), "{ran:?}");
        assert!(!home.path("s.study").exists(), "nothing was run");
    }
}

#[test]
fn a_plot_without_values_does_not_keep_the_tables() {
    let home = Home::new();
    // No transfer has a size: none is ever complete.
    home.write("s.toml", STUDY.replace("goodput_bps", "completion_ms_mean"));
    let ran = home.run(&["sweep", "s.toml"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("plot rates: y = completion_ms_mean: the rows have no value of it"));
    assert!(home.path("s.study/groups.parquet").exists());
}
