//! Reading how many replications a study wants.
use tidegate::config::Value;

use crate::nearest::did_you_mean;
use crate::reader::{Reader, Table, TomlValue};
use crate::study::rows::figures;
use crate::study::seeds::{LEAST, Seeds, Until};

/// The keys of seeds that are a table.
const SEEDS: [&str; 4] = ["until", "of", "least", "most"];
/// The most seeds of a case.
const MOST_SEEDS: i64 = 10_000;

impl Reader<'_> {
    pub(super) fn seeds_of(&mut self, table: &Table<'_>) -> Seeds {
        let usual = Seeds::Fixed(5);
        let Some(node) = table.get("seeds") else { return usual };
        if !matches!(node.kind, TomlValue::Table(_)) {
            let seeds = self.whole_of(table, "seeds", 1, MOST_SEEDS);
            return seeds.map_or(usual, |seeds| Seeds::Fixed(seeds as u32));
        }
        let table = self.table(node, "seeds.");
        self.only(&table, "seeds", &SEEDS);
        let least = self.whole_of(&table, "least", LEAST as i64, MOST_SEEDS).unwrap_or(5);
        let most = self.whole_of(&table, "most", LEAST as i64, MOST_SEEDS).unwrap_or(100);
        if most < least {
            self.refuse_key(&table, "most", format!("must be at least `least`, {least}"));
        }
        let relative = self.relative(&table);
        let (group, column) = self.figure_of(&table);
        Seeds::Until(Until { relative, group, column, least: least as u32, most: most as u32 })
    }

    /// Half of an interval over its mean, in per cent.
    fn relative(&mut self, table: &Table<'_>) -> f64 {
        let Some(text) = self.text(table, "until") else {
            if table.get("until").is_none() {
                let why = "this key is required: half of the interval over the mean, as in \"5 %\"";
                self.missing(table, "until", why);
            }
            return 1.0;
        };
        let number = text.trim().strip_suffix('%').and_then(|n| f64::read(n.trim()).ok());
        match number.filter(|percent| (0.01..=100.0).contains(percent)) {
            Some(percent) => percent / 100.0,
            None => {
                self.refuse_key(table, "until", "must be from 0.01 % to 100 %, as in \"5 %\"");
                1.0
            }
        }
    }

    /// The group and the column that `of` names.
    fn figure_of(&mut self, table: &Table<'_>) -> (String, String) {
        let Some(text) = self.text(table, "of") else {
            if table.get("of").is_none() {
                let why = "this key is required: a group and a figure, as in \"tcp.goodput_bps\"";
                self.missing(table, "of", why);
            }
            return Default::default();
        };
        let figures: Vec<String> = figures().into_iter().map(|column| column.name).collect();
        let known: Vec<&str> = figures.iter().map(String::as_str).collect();
        match text.split_once('.') {
            Some((group, column)) if known.contains(&column) => (group.into(), column.into()),
            Some((_, column)) => {
                let near = did_you_mean(column, &known).unwrap_or_default();
                self.refuse_key(table, "of", format!("no such figure{near}"));
                Default::default()
            }
            None => {
                self.refuse_key(table, "of", "must be GROUP.FIGURE, as in \"tcp.goodput_bps\"");
                Default::default()
            }
        }
    }
}
