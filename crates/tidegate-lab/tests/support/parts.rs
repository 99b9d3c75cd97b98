//! Parts of the scenarios whose refusals are tested; `concat!` makes a text of some.

/// A part of a scenario by its name, as a literal.
macro_rules! part {
    (minute) => {
        "\n[run]\nduration = \"60 s\"\n"
    };
    (dumbbell) => {
        "\n[network]\nrate = \"10 Mbit/s\"\nlimit = \"100 packets\"\n"
    };
    // A link from A to B, which has a queue.
    (one_link) => {
        r#"
[network]
kind = "graph"

[[link]]
from = "A"
to = "B"
rate = "45 Mbit/s"
limit = "200 kB"
"#
    };
    // That, and a link from B to C.
    (graph) => {
        concat!(part!(one_link), "\n[[link]]\nfrom = \"B\"\nto = \"C\"\nrate = \"45 Mbit/s\"\n")
    };
    (red) => {
        "\n[queue]\nname = \"red\"\n"
    };
    (compare) => {
        "\n[compare]\nqueues = [\"red\", \"sfb\"]\n"
    };
    (twenty) => {
        "\n[[group]]\nname = \"tcp\"\ncount = 20\nsource = \"newreno\"\n"
    };
    (tcp) => {
        "\n[[group]]\nname = \"tcp\"\nsource = \"newreno\"\n"
    };
    (tfrc) => {
        "\n[[group]]\nname = \"g\"\nsource = \"tfrc\"\n"
    };
    (cbr) => {
        "\n[[group]]\nname = \"g\"\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\n"
    };
    (flood) => {
        "\n[[group]]\nname = \"flood\"\nsource = \"cbr\"\nrate = \"20 Mbit/s\"\n"
    };
    (a_to_b) => {
        "from = \"A\"\nto = \"B\"\n"
    };
    (a_to_c) => {
        "from = \"A\"\nto = \"C\"\n"
    };
}

pub(crate) use part;
