//! The gate's file that puts the advice into practice.
use std::fmt::Write;

use tidegate::Link;
use tidegate::catalog::AnyConfig;

use crate::spec::QueueSpec;

/// A `gate.toml` with `spec` in front of `link`. `config` is what its preset makes of the link.
pub(super) fn toml(spec: &QueueSpec, config: &AnyConfig, link: &Link) -> String {
    let values: Vec<String> =
        config.values().iter().map(|(param, value)| format!("{} = {value}", param.name)).collect();
    let mut text = String::from(
        "# Advised by `tidegate advise`. Set your interfaces, then try it:\n\
         #   tidegate gate --config gate.toml --dry-run\n\n\
         [[link]]\n\
         name = \"advised\"\n\
         in = \"eth1\"    # the side that the traffic comes from\n\
         out = \"eth2\"   # the side of the link\n",
    );
    let spec = QueueSpec { label: None, ..spec.clone() };
    let _ = write!(
        text,
        "rate = \"{}\"    # a little less than the link carries, so that what waits waits here\n\
         limit = \"{}\"\n\
         mean_packet = \"{}\"\n\
         queue = \"{spec}\"\n",
        link.rate, link.limit, link.mean_packet
    );
    if !values.is_empty() {
        let _ = writeln!(text, "# On this link that is:");
        for line in values {
            let _ = writeln!(text, "#   {line}");
        }
    }
    text
}
