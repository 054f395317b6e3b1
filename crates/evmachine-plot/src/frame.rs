//! The axes, their ticks and labels, and the canvas around them.

use std::sync::Arc;

use kuva::plot::ScatterPlot;
use kuva::render::layout::{AxisLabelOverlap, ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Primitive, Scene, render_multiple};
use kuva::render::theme::Theme;

use crate::legend::Legend;
use crate::palette::{GRID, INK};
use crate::picture::Picture;
use crate::range::{Range, TICKS, logarithmic_tick};

/// The families an SVG asks for; PNGs always use the first, which the drawing library carries.
const FAMILY: &str = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif";
/// Room at the right edge for half of the last tick's label.
const EDGE: f64 = 26.0;

/// How an axis counts.
#[derive(Debug, Clone)]
pub(crate) enum Ticks {
    Linear,
    /// Whole numbers only.
    Counts,
    Logarithmic,
    /// One name at each of 1, 2, 3 and so on.
    Names(Vec<String>),
}

/// One axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) range: Range,
    pub(crate) ticks: Ticks,
}

/// Everything around the data of a picture.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) horizontal: Axis,
    pub(crate) vertical: Axis,
    /// The size of the area between the axes, in pixels; the canvas grows around it.
    pub(crate) inside: (f64, f64),
    /// Widen one range so that a unit is equally long on both axes.
    pub(crate) equal_units: bool,
    pub(crate) grid: bool,
    pub(crate) tick_size: u32,
    /// The angle of the names on the horizontal axis.
    pub(crate) name_angle: Option<f64>,
    pub(crate) legend: Legend,
}

/// Where data coordinates lie on the canvas.
pub(crate) struct Geometry(ComputedLayout);

impl Geometry {
    /// The pixel of a data point.
    pub(crate) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.0.map_x(x), self.0.map_y(y))
    }

    /// The ranges the axes really have, after equal units have widened one of them.
    pub(crate) fn ranges(&self) -> (Range, Range) {
        let ((left, right), (bottom, top)) = (self.0.x_range, self.0.y_range);
        (Range { low: left, high: right }, Range { low: bottom, high: top })
    }
}

impl Frame {
    /// A frame of common size around two axes, with a grid.
    pub(crate) fn new(title: &str, horizontal: Axis, vertical: Axis, legend: Legend) -> Self {
        Self {
            title: title.to_owned(),
            horizontal,
            vertical,
            inside: (560.0, 400.0),
            equal_units: false,
            grid: true,
            tick_size: 13,
            name_angle: None,
            legend,
        }
    }

    /// The mapping that [`Frame::scene`] will use.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry(ComputedLayout::from_layout(&self.layout()))
    }

    /// The finished picture: `plots` inside the axes, `marks` (in pixels) on top of them.
    pub(crate) fn picture(&self, plots: Vec<Plot>, marks: Vec<Primitive>) -> Picture {
        Picture::new(self.scene(plots, marks))
    }

    /// As [`Frame::picture`], for a picture of several panels.
    pub(crate) fn scene(&self, mut plots: Vec<Plot>, marks: Vec<Primitive>) -> Scene {
        if plots.is_empty() {
            // Without any plot, no axes would be drawn.
            plots.push(ScatterPlot::new().into());
        }
        let layout = self.layout();
        let computed = ComputedLayout::from_layout(&layout);
        let mut scene = render_multiple(plots, layout);
        scene.elements.extend(marks);
        let right = computed.width - computed.margin_right;
        let bottom = computed.height - computed.margin_bottom;
        self.legend.draw(right, computed.margin_top, bottom, &mut scene.elements);
        scene
    }

    fn layout(&self) -> Layout {
        let bare = self.bare_layout();
        // The library knows the margins that titles and ticks need once it has laid them out; the canvas is
        // then sized so that exactly the wanted area remains between the axes.
        let margins = ComputedLayout::from_layout(&bare);
        let right = self.legend.width() + EDGE;
        let width = margins.margin_left + self.inside.0 + right;
        let inside_height = self.inside.1.max(self.legend.height());
        let height = margins.margin_top + inside_height + margins.margin_bottom;
        bare.with_width(width.ceil())
            .with_height(height.ceil())
            .with_force_margins(margins.margin_left, width.ceil() - margins.margin_left - self.inside.0)
            .with_force_margins_y(margins.margin_top, height.ceil() - margins.margin_top - inside_height)
    }

    fn bare_layout(&self) -> Layout {
        let theme = Theme {
            grid_color: GRID.hex(),
            text_color: INK.hex(),
            axis_color: INK.hex(),
            tick_color: INK.hex(),
            ..Theme::light()
        };
        let (x, y) = (self.horizontal.range, self.vertical.range);
        let mut layout = Layout::new((x.low, x.high), (y.low, y.high))
            .with_theme(theme)
            .with_font_family(FAMILY)
            .with_title_size(18)
            .with_label_size(15)
            .with_tick_size(self.tick_size)
            .with_ticks(TICKS)
            .with_show_grid(self.grid)
            .with_title_wrap((self.inside.0 / 10.0) as usize)
            .with_x_label_wrap((self.inside.0 / 8.5) as usize)
            .with_y_label_wrap((self.inside.1 / 8.5) as usize)
            .with_x_axis_min(x.low)
            .with_x_axis_max(x.high)
            .with_y_axis_min(y.low)
            .with_y_axis_max(y.high);
        if !self.title.is_empty() {
            layout = layout.with_title(self.title.as_str());
        }
        if !self.horizontal.label.is_empty() {
            layout = layout.with_x_label(self.horizontal.label.as_str());
        }
        if !self.vertical.label.is_empty() {
            layout = layout.with_y_label(self.vertical.label.as_str());
        }
        if self.equal_units {
            layout = layout.with_equal_aspect();
        }
        layout = match &self.horizontal.ticks {
            Ticks::Names(names) => layout.with_x_categories(names.clone()),
            // Over very many decades, ticks lie closer than their labels are wide.
            Ticks::Logarithmic => layout
                .with_log_x()
                .with_x_label_overlap(AxisLabelOverlap::Thin)
                .with_x_tick_format(TickFormat::Custom(Arc::new(logarithmic_tick))),
            Ticks::Linear => layout.with_x_tick_format(tick_format(x)),
            Ticks::Counts => layout.with_x_tick_step(whole_step(x)),
        };
        layout = match &self.vertical.ticks {
            Ticks::Names(names) => layout.with_y_categories(names.clone()),
            Ticks::Logarithmic => {
                layout.with_log_y().with_y_tick_format(TickFormat::Custom(Arc::new(logarithmic_tick)))
            }
            Ticks::Linear => layout.with_y_tick_format(tick_format(y)),
            Ticks::Counts => layout.with_y_tick_step(whole_step(y)),
        };
        match self.name_angle {
            Some(angle) => layout.with_x_tick_rotate(angle),
            None => layout,
        }
    }
}

fn tick_format(range: Range) -> TickFormat {
    range.decimals().map_or(TickFormat::Auto, TickFormat::Fixed)
}

fn whole_step(range: Range) -> f64 {
    range.step().max(1.0).round()
}
