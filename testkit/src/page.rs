//! The sample page: a made-up night on a board, for the browser test and for work on the looks.

use page::{Overview, sample};

/// The night.
pub fn sample() -> Overview {
    sample::night()
}

/// The same night with hostile texts, which try to break what shows it.
pub fn hostile() -> Overview {
    let mut night = sample::night();
    let long = "verylongword".repeat(40);
    let texts = [
        "<script>document.title = 'broken'</script>",
        "\"><img src='http://127.0.0.1:9/x.png' onerror='console.log(1)'>",
        "</title></style></pre></bdi><body style='display:none'>",
        "gpj.\u{202e}exe\u{2066}\u{0}\u{1b}[31m",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{0645}\u{0631}\u{062d}\u{0628}\u{0627} 123",
        &long,
        "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
        "",
    ];
    let mut next = texts.iter().cycle();
    sample::every_text(&mut night, &mut || next.next().copied().unwrap_or_default().to_owned());
    night
}

/// A page of it.
pub fn html(overview: &Overview) -> String {
    shared::page::html::page(std::slice::from_ref(overview))
}
