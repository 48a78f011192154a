//! Lines on logarithmic axes, drawn as SVG.

use std::fmt::Write as _;

/// Pixels of one panel and of what is around its axes.
const WIDTH: f64 = 432.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;
/// Height of the legend below all panels.
const LEGEND: f64 = 56.0;
/// Panels side by side.
const ACROSS: usize = 2;
/// Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008). The second four lines have them dashed.
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

/// Panels with the same lines in each.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    panels: Vec<Panel>,
}

#[derive(Debug)]
struct Panel {
    x: String,
    lines: Vec<Line>,
}

/// One line: what it shows, and its points. All are above 0.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// What the legend calls it.
    pub(crate) name: String,
    /// Size and milliseconds.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Line {
    /// A line without points yet.
    pub(crate) fn of(name: &str) -> Line {
        Line { name: name.to_owned(), points: Vec::new() }
    }
}

/// One axis: whole powers of ten, and the pixels from the first to the last of them.
struct Axis {
    powers: std::ops::RangeInclusive<i32>,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let logs: Vec<f64> = values.filter(|v| *v > 0.0).map(f64::log10).collect();
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        let (least, most) =
            if logs.is_empty() { (0, 1) } else { (least as i32, (most as i32).max(least as i32 + 1)) };
        Axis { powers: least..=most, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let (least, most) = (f64::from(*self.powers.start()), f64::from(*self.powers.end()));
        self.from + (value.log10() - least) / (most - least) * (self.to - self.from)
    }
}

impl Chart {
    /// One more panel. `x`: what grows.
    pub(crate) fn panel(&mut self, x: &str, lines: Vec<Line>) {
        self.panels.push(Panel { x: x.to_owned(), lines });
    }

    /// The whole picture.
    pub(crate) fn svg(&self) -> String {
        let rows = self.panels.len().div_ceil(ACROSS);
        let (width, height) = (WIDTH * ACROSS as f64, HEIGHT * rows as f64 + LEGEND);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>How the processor time of a look grows</title>\n\
             <style>text{{font:12px sans-serif;fill:#222}}.grid{{stroke:#ddd}}polyline{{fill:none;stroke-width:2}}.dashed{{stroke-dasharray:6 3}}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        for (i, panel) in self.panels.iter().enumerate() {
            let (x, y) = (WIDTH * (i % ACROSS) as f64, HEIGHT * (i / ACROSS) as f64);
            let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">\n{}</g>", panel.svg());
        }
        let names = self.panels.first().map_or(&[][..], |panel| &panel.lines);
        for (i, line) in names.iter().enumerate() {
            let x = LEFT + (i % COLOURS.len()) as f64 * (width - LEFT) / COLOURS.len() as f64;
            let y = height - LEGEND + 20.0 + (i / COLOURS.len()) as f64 * 20.0;
            let _ = writeln!(
                svg,
                "<polyline {} points=\"{x},{y} {},{y}\"/><text x=\"{}\" y=\"{}\">{}</text>",
                stroke(i),
                x + 30.0,
                x + 36.0,
                y + 4.0,
                line.name
            );
        }
        svg + "</svg>\n"
    }
}

/// How the line of this number is drawn.
fn stroke(i: usize) -> String {
    let dashed = if i < COLOURS.len() { "" } else { " class=\"dashed\"" };
    format!("stroke=\"{}\"{dashed}", COLOURS[i % COLOURS.len()])
}

impl Panel {
    fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let across = Axis::over(points().map(|p| p.0), LEFT, WIDTH - RIGHT);
        let up = Axis::over(points().map(|p| p.1), HEIGHT - BOTTOM, TOP);
        let mut svg = format!("<text x=\"{LEFT}\" y=\"{}\">ms, by {}</text>\n", TOP - 12.0, self.x);
        for power in across.powers.clone() {
            let (value, x) = (10_f64.powi(power), across.at(10_f64.powi(power)));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{y}\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                HEIGHT - BOTTOM + 18.0,
                y = HEIGHT - BOTTOM,
            );
        }
        for power in up.powers.clone() {
            let (value, y) = (10_f64.powi(power), up.at(10_f64.powi(power)));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0
            );
        }
        for (i, line) in self.lines.iter().enumerate() {
            let places: Vec<String> =
                line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", across.at(*x), up.at(*y))).collect();
            let _ = writeln!(svg, "<polyline {} points=\"{}\"/>", stroke(i), places.join(" "));
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_spans_whole_powers_of_ten() {
        let mut chart = Chart::default();
        let line = Line { points: vec![(10.0, 2.0), (1_000.0, 20.0)], ..Line::of("heal") };
        chart.panel("tasks open", vec![line]);
        let svg = chart.svg();
        // From 10 to 1,000 across. 2 ms lies at 15 % and 20 ms at 65 % of the way from 1 (at 260) to 100 (at 30).
        let ends = format!("points=\"{LEFT:.1},225.4 {:.1},110.4\"", WIDTH - RIGHT);
        assert!(svg.contains(&ends), "{ends}: {svg}");
        for text in [">10<", ">100<", ">1000<", ">1<", "ms, by tasks open", ">heal<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn the_second_four_lines_are_dashed() {
        let mut chart = Chart::default();
        chart.panel("boards", ["a", "b", "c", "d", "e"].map(Line::of).into());
        assert_eq!(chart.svg().matches("class=\"dashed\"").count(), 2, "in the panel and in the legend");
    }
}
