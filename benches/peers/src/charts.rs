//! Charts as SVG: lines over logarithmic axes, in colours that can be told apart on white and on dark.

use std::fs;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Result;
use crate::compare::{CALLERS, PEERS, Row, Table, Way};
use crate::figures::grouped;

const SIZE: (u32, u32) = (960, 480);
const LEGEND_WIDTH: i32 = 290;
const INK: RGBColor = RGBColor(118, 124, 134);
const FONT: &str = "sans-serif";

/// A line of a chart.
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) colour: RGBColor,
    pub(crate) dashed: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

/// What a chart shows.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
}

/// Draws throughput and latency over the number of callers into a folder.
pub(crate) fn comparison(out: &Path, rows: &[Row]) -> Result<()> {
    let lines = |figure: fn(&Row) -> f64| -> Vec<Line> {
        let line = |peer: &crate::compare::PeerName| {
            let at = |callers| {
                let row = |row: &&Row| row.table == Table::Callers(callers) && row.label == peer.label;
                rows.iter().find(row).map(|row| (callers as f64, figure(row)))
            };
            let points: Vec<_> = CALLERS.into_iter().filter_map(at).collect();
            let dashed = matches!(peer.way, Way::Each | Way::Unsynced);
            Line { label: peer.label.into(), colour: colour(peer.name), dashed, points }
        };
        let ledgers = PEERS.iter().filter(|peer| !matches!(peer.way, Way::NoLedger | Way::NoLedgerGroup));
        ledgers.map(line).filter(|line| !line.points.is_empty()).collect()
    };
    let chart = |title, up| Chart { title, across: "callers", up };
    draw(
        &out.join("throughput.svg"),
        &chart("Durable grants a second", "grants a second"),
        &lines(|row| row.rate),
    )?;
    let p99 = lines(|row| row.p99 / 1e6);
    draw(&out.join("latency.svg"), &chart("99th percentile of a grant's latency", "milliseconds"), &p99)
}

fn colour(name: &str) -> RGBColor {
    match name {
        "pointstore" => RGBColor(224, 62, 62),
        "sled-flush" => RGBColor(160, 130, 90),
        name if name.starts_with("sqlite") => RGBColor(56, 132, 222),
        name if name.starts_with("redb") => RGBColor(204, 124, 24),
        name if name.starts_with("fjall") => RGBColor(28, 156, 108),
        name if name.starts_with("sled") => RGBColor(150, 98, 214),
        _ => RGBColor(24, 152, 172),
    }
}

/// Draws one chart. What lies at or under zero has no place on it.
pub(crate) fn draw(path: &Path, chart: &Chart<'_>, lines: &[Line]) -> Result<()> {
    let points = || lines.iter().flat_map(|line| &line.points).filter(|point| point.0 > 0.0 && point.1 > 0.0);
    let least = points().copied().reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)));
    let most = points().copied().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
    let (Some(least), Some(most)) = (least, most) else { return Err("there is nothing to draw".into()) };
    let mut measured: Vec<f64> = points().map(|point| point.0).collect();
    measured.sort_unstable_by(f64::total_cmp);
    measured.dedup();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // No background: that of the page shows through.
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let (plot, legend) = area.split_horizontally(SIZE.0 as i32 - LEGEND_WIDTH);
    let ink = |size: i32| (FONT, size).into_font().color(&INK);
    let mut context = ChartBuilder::on(&plot)
        .caption(chart.title, ink(24))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(
            (least.0 * 0.9..most.0 * 1.1).log_scale().with_key_points(measured),
            (least.1 * 0.8..most.1 * 1.25).log_scale(),
        )
        .map_err(drawing)?;
    context
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(INK.mix(0.35))
        .light_line_style(INK.mix(0.12))
        .label_style(ink(16))
        .x_desc(chart.across)
        .y_desc(chart.up)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .draw()
        .map_err(drawing)?;
    for line in lines {
        let style = line.colour.stroke_width(if line.dashed { 2 } else { 3 });
        let points = line.points.iter().copied();
        if line.dashed {
            context.draw_series(DashedLineSeries::new(points.clone(), 6, 4, style)).map_err(drawing)?;
        } else {
            context.draw_series(LineSeries::new(points.clone(), style)).map_err(drawing)?;
        }
        let dot = |point| Circle::new(point, 4, line.colour.filled());
        context.draw_series(points.map(dot)).map_err(drawing)?;
    }
    draw_legend(&legend, lines)?;
    area.present().map_err(drawing)?;
    Ok(())
}

fn draw_legend(area: &DrawingArea<SVGBackend<'_>, Shift>, lines: &[Line]) -> Result<()> {
    // In the order in which the lines end.
    let end = |line: &Line| line.points.last().map_or(0.0, |point| point.1);
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by(|a, b| end(b).total_cmp(&end(a)));
    for (line, y) in sorted.into_iter().zip((60..).step_by(24)) {
        let style = line.colour.stroke_width(if line.dashed { 2 } else { 3 });
        let ends = if line.dashed { vec![(0, 6), (10, 16), (20, 26)] } else { vec![(0, 26)] };
        for (from, to) in ends {
            area.draw(&PathElement::new([(from, y), (to, y)], style)).map_err(drawing)?;
        }
        let text = Text::new(line.label.clone(), (34, y - 7), (FONT, 16).into_font().color(&INK));
        area.draw(&text).map_err(drawing)?;
    }
    Ok(())
}

fn number(figure: &f64) -> String {
    match *figure {
        figure if figure >= 1.0 => grouped(figure),
        figure => format!("{figure}"),
    }
}

fn drawing(error: impl std::fmt::Display) -> crate::Error {
    format!("a chart was not drawn: {error}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: Vec<(f64, f64)>) -> Line {
        Line { label: "a line".into(), colour: INK, dashed: true, points }
    }

    #[test]
    fn a_chart_has_its_title_labels_and_no_background() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("charts/one.svg");
        let chart = Chart { title: "A title", across: "callers", up: "grants" };
        draw(&path, &chart, &[line(vec![(1.0, 10.0), (64.0, 20_000.0)])]).unwrap();
        let text = fs::read_to_string(path).unwrap();
        for word in ["A title", "callers", "grants", "a line", "10,000"] {
            assert!(text.contains(word), "{word}");
        }
        assert!(!text.contains("#FFFFFF") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn what_keeps_no_ledger_is_not_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let work = crate::child::Work::Grants { callers: 64, len: 1, accounts: 10 };
        let of = |peer: &crate::compare::PeerName| {
            let (table, label) = (Table::Callers(64), peer.label.to_owned());
            let rate = 1e3;
            Row { table, label, peer: *peer, work, rate, p50: 1e6, p99: 2e6, cpu: 1.0, disk: 1.0, peak: 1.0 }
        };
        comparison(folder.path(), &PEERS.iter().map(of).collect::<Vec<_>>()).unwrap();
        for name in ["throughput.svg", "latency.svg"] {
            let text = fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(text.contains("SQLite, group commit") && !text.contains("no ledger"), "{name}");
        }
    }

    #[test]
    fn a_chart_without_points_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let chart = Chart { title: "", across: "", up: "" };
        assert!(draw(&folder.path().join("none.svg"), &chart, &[line(vec![])]).is_err());
    }
}
