"""What the tests of the report in a browser look at."""

import re

import numpy as np


def visible_edges(page):
    """(cause, effect) positions of the lines on the stage that have a head, as they are drawn."""
    pairs = page.evaluate(
        """() => {
            const routes = JSON.parse(document.getElementById("data").textContent).layout.routes;
            const touches = [...document.querySelectorAll("#stage .touch")];
            const pair = new Map(touches.map((touch) => [touch.getAttribute("d"), Number(touch.dataset.pair)]));
            const lines = [...document.querySelectorAll("#stage .line")];
            return lines.filter((line) => line.style.display !== "none").flatMap((line) => {
                const [a, b] = routes[pair.get(line.getAttribute("d"))];
                const ends = [];
                if (line.getAttribute("marker-end") !== "none") ends.push([a, b]);
                if (line.getAttribute("marker-start") !== "none") ends.push([b, a]);
                return ends;
            });
        }"""
    )
    return {tuple(pair) for pair in pairs}


def edges_of(matrix):
    return {(int(i), int(j)) for i, j in np.argwhere(matrix)}


def kinds(page):
    """How many visible lines there are of each kind."""
    classes = page.eval_on_selector_all(
        "#stage .line", "all => all.filter((one) => one.style.display !== 'none').map((one) => one.classList[1])"
    )
    return {kind: classes.count(kind) for kind in set(classes)}


def column(page, k):
    return page.locator(f"#edge-table tbody tr td:nth-child({k})").all_inner_texts()


def node(page, result, name):
    return page.locator(f'#stage [data-node="{result.names.index(name)}"]')


def luminance(colour):
    channels = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(page, selector, front, behind, back="background-color"):
    """WCAG contrast of a colour of one element against the background of another."""
    read = "(one, key) => getComputedStyle(one).getPropertyValue(key)"
    light, dark = sorted(
        (
            luminance(page.eval_on_selector(selector, read, front)),
            luminance(page.eval_on_selector(behind, read, back)),
        ),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


def corners(shape):
    """Points of an SVG path of M, C and V, in order."""
    points = []
    for command, numbers in re.findall(r"([MCV])([^MCV]*)", shape):
        values = [float(number) for number in numbers.split()]
        points += [(points[-1][0], values[0])] if command == "V" else list(zip(values[::2], values[1::2]))
    return points
