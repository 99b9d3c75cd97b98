//! `tidegate paper` from outside.
use crate::common::Home;

#[test]
fn closed_forms_are_worked_out() {
    let home = Home::new();
    let rows = home.run(&["paper", "run", "c3", "B0", "--json"]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 20);
    let example = rows.iter().find(|row| row["quantity"] == "jackknife()").unwrap();
    assert_eq!(
        (example["verdict"].as_str(), example["printed"].as_str()),
        (Some("holds"), Some("142"))
    );
    let text = home.run(&["paper", "run", "C3"]).out;
    assert!(
        text.contains("polluted_bins(bins 23, floods 8)")
            && text.contains("13 claims: 12 hold; 1 differs."),
        "{text}"
    );
}

#[test]
fn what_is_asked_for_can_be_an_experiment_a_paper_or_all() {
    let home = Home::new();
    let list = home.run(&["paper", "list", "--json"]).json();
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|paper| paper["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bare", "care", "comparison", "ewfq", "purge", "sfb"]);
    let settings = &list[1]["experiments"][1]["settings"];
    assert_eq!(
        (settings[0].as_str(), settings[6].as_str()),
        (Some("UDP load 1 %"), Some("UDP load 30 %"))
    );
    home.run(&["paper", "run", "B55"])
        .refused(2, &["B55: no such experiment or paper", "did you mean `B5`?"]);
    home.run(&["paper", "run", "C3", "--from", "nowhere"]).refused(2, &["nowhere: "]);
    home.run(&["paper", "run", "C3", "--seeds", "0"]).refused(2, &["must lie in 1 to 10000"]);
}

#[test]
fn results_lie_in_a_directory_of_their_own() {
    let home = Home::new();
    let ran = home.run(&["paper", "run", "A4", "C3", "--quick", "--seeds", "1", "--out", "out"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(home.path(&format!("out/{name}"))).unwrap();
    assert!(read("results.csv").lines().count() > 10);
    for page in ["index.html", "purge.html", "sfb.html"] {
        let text = read(page);
        assert!(text.starts_with("<!doctype html>") && text.contains("A quick run"), "{page}");
        // What stands between the tags of a script is the chart library's own text.
        let tags = text.split("<script").flat_map(|part| part.split("</script>").last());
        let markup: String = tags
            .chain(text.split("<script").skip(1).filter_map(|part| part.split('>').next()))
            .collect();
        // All pages share one chart library, which lies beside them.
        let markup = markup.replace(" src=\"charts.js\"", "");
        for word in ["src=", "<link", "<iframe", "@import", "http-equiv=\"refresh\""] {
            assert!(!markup.contains(word), "{page} loads something: {word}");
        }
    }
    assert!(read("charts.js").contains("echarts") && !read("index.html").contains("charts.js"));
    assert!(read("sfb.html").contains("<script src=\"charts.js\">"));
    assert!(read("sfb.html").len() < 300_000, "{} bytes", read("sfb.html").len());
    let parts = || std::fs::read_dir(home.path("out/store/parts")).unwrap().count();
    let (before, stored) = (read("results.csv"), parts());
    home.run(&["paper", "run", "A4", "C3", "--quick", "--seeds", "1", "--out", "out"]);
    assert_eq!((parts(), read("results.csv")), (stored, before), "nothing is run twice");
    let thesis = home.path("mine");
    std::fs::create_dir(&thesis).unwrap();
    std::fs::write(thesis.join("thesis.tex"), "years of work").unwrap();
    home.run(&["paper", "run", "C3", "--out", "mine"]).refused(2, &["other things in it"]);
}

#[test]
fn a_paper_of_ones_own_is_read_from_its_folder() {
    let home = Home::new();
    let folder = home.path("papers/mine");
    std::fs::create_dir_all(&folder).unwrap();
    let description = "key = \"me\"\ntitle = \"Mine\"\nseeds = 1\n[[experiment]]\nid = \
         \"X1\"\nplace = \"§1\"\ntitle = \"A form\"\n";
    std::fs::write(folder.join("paper.toml"), description).unwrap();
    let claims = "experiment,setting,queue,quantity,unit,printed,within,place,fit,unchecked,explained\nX1,,,jackknife(),flows,150,0.5,§1,,,\n";
    std::fs::write(folder.join("printed.csv"), claims).unwrap();
    let ran = home.run(&["paper", "run", "all", "--from", "papers"]);
    assert!(ran.code == 0 && ran.out.contains("1 claim: 1 differs."), "{ran:?}");
    std::fs::write(folder.join("printed.csv"), claims.replace("flows,150", "ms,150")).unwrap();
    home.run(&["paper", "run", "all", "--from", "papers"])
        .refused(2, &["mine/printed.csv:2:", "unit = ms", "measured in flows"]);
}
