//! Who is who in a suite's cells, and that its figures are of somebody.
use crate::folder::Description;
use crate::nearest::did_you_mean;
use crate::reader::Table;
use crate::scenario::{Group, Scenario};

use super::book::{Roles, Suite, SuiteCell};
use super::figure::CellFigure;

impl Description<'_, '_, '_> {
    /// Refuses figures and pictures of groups that no cell has.
    pub(super) fn told(&mut self, root: &Table<'_>, tests: &[Table<'_>], suite: &Suite) {
        let of_all = suite.figures.iter().flat_map(CellFigure::roles);
        self.known(root, "figures", of_all, suite.cells.iter());
        for (at, (test, table)) in suite.tests.iter().zip(tests).enumerate() {
            let cells = suite.cells.iter().filter(|cell| cell.test == at);
            let roles = test.figures.iter().flat_map(CellFigure::roles);
            self.known(table, "figures", roles, cells.clone());
            self.known(table, "ellipses", test.ellipses.iter().map(String::as_str), cells);
        }
    }

    fn known<'s>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        mut groups: impl Iterator<Item = &'s str>,
        cells: impl Iterator<Item = &'s SuiteCell>,
    ) {
        let mut known: Vec<&str> =
            cells.flat_map(|cell| &cell.full.groups).map(|group| group.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(none) = groups.find(|group| !known.contains(group)) {
            let near = did_you_mean(none, &known).unwrap_or_default();
            let why = format!("no cell has a group `{none}`; there are {}{near}", known.join(", "));
            self.reader.refuse_key(table, key, why);
        }
    }

    /// Who is who: by `users` and `light`, or else by how groups' names begin.
    pub(super) fn roles(&mut self, table: &Table<'_>, scenario: &Scenario) -> Option<Roles> {
        let names: Vec<&str> = scenario.groups.iter().map(|group| group.name.as_str()).collect();
        let mut of = |key: &str| -> Option<Vec<String>> {
            let named = self.strings(table, key);
            if table.get(key).is_none() {
                let begins = names.iter().filter(|name| name.starts_with(key));
                return Some(begins.map(|name| name.to_string()).collect());
            }
            if let Some(stray) = named.iter().find(|name| !names.contains(&name.as_str())) {
                let near = did_you_mean(stray, &names).unwrap_or_default();
                let why = format!(
                    "the scenario has no group `{stray}`; those are {}{near}",
                    names.join(", ")
                );
                self.reader.refuse_key(table, key, why);
                return None;
            }
            Some(named)
        };
        let (users, light) = (of("users")?, of("light")?);
        if users.is_empty() {
            let why = "no group of the scenario is a user: call one users…, or name it here";
            self.reader.refuse_key(table, "users", why);
            return None;
        }
        let others = |name: &&&str| !users.iter().chain(&light).any(|known| known == **name);
        let attackers = names.iter().filter(others).map(|name| name.to_string()).collect();
        let count_as = table.get("count_as").map(|_| self.whole(table, "count_as", 1, 1_000_000));
        let count_as = count_as.flatten().map(|count| count as u32);
        Some(Roles { users, light, attackers, count_as })
    }

    /// Whether times to detect and to recover are asked.
    pub(super) fn attacked(
        &mut self,
        table: &Table<'_>,
        scenario: &Scenario,
        roles: &Roles,
    ) -> Option<bool> {
        let timed = self.reader.flag(table, "attack");
        let of = |group: &&Group| roles.attackers.contains(&group.name);
        if timed && !scenario.groups.iter().any(|group| of(&group)) {
            self.reader.refuse_key(table, "attack", "no group of the scenario attacks");
            return None;
        }
        Some(timed)
    }
}
