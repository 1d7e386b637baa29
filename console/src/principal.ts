/** Principal components: the two directions in which vectors differ most, found by power iteration. */
export interface Axes {
  mean: number[];
  axes: [number[], number[]];
  /** How much of the variance the two show. */
  share: number;
}

const STEPS = 60;

const dot = (one: readonly number[], other: readonly number[]) => one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);

function normalised(vector: number[]): number[] {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}

export function principalAxes(rows: readonly (readonly number[])[]): Axes {
  const dim = rows[0]?.length ?? 0;
  const mean = Array.from({ length: dim }, (_, at) => rows.reduce((sum, row) => sum + (row[at] ?? 0), 0) / Math.max(1, rows.length));
  const centred = rows.map((row) => row.map((value, at) => value - (mean[at] ?? 0)));
  const total = centred.reduce((sum, row) => sum + dot(row, row), 0);
  const first = strongest(centred, dim, undefined);
  const second = strongest(centred, dim, first);
  const along = (axis: number[]) => centred.reduce((sum, row) => sum + dot(row, axis) ** 2, 0);
  return { mean, axes: [first, second], share: total === 0 ? 0 : (along(first) + along(second)) / total };
}

/** The direction of the largest variance among those at right angles to `other`. */
function strongest(centred: number[][], dim: number, other: number[] | undefined): number[] {
  // Any start will do that is not at right angles to the answer; this one is the same every time.
  let axis = normalised(Array.from({ length: dim }, (_, at) => Math.sin(at * 12.9898 + 78.233) + 1e-3));
  for (let step = 0; step < STEPS; step += 1) {
    const next = new Array<number>(dim).fill(0);
    for (const row of centred) {
      const weight = dot(row, axis);
      row.forEach((value, at) => {
        next[at] = (next[at] ?? 0) + weight * value;
      });
    }
    if (other !== undefined) {
      const along = dot(next, other);
      other.forEach((value, at) => {
        next[at] = (next[at] ?? 0) - along * value;
      });
    }
    axis = normalised(next);
  }
  return axis;
}

/** Places within −1 … 1, with the same scale on both axes. */
export function project(rows: readonly (readonly number[])[], { mean, axes }: Axes): [number, number][] {
  const places = rows.map((row): [number, number] => {
    const centred = row.map((value, at) => value - (mean[at] ?? 0));
    return [dot(centred, axes[0]), dot(centred, axes[1])];
  });
  const most = Math.max(1e-12, ...places.flat().map(Math.abs));
  return places.map(([x, y]) => [x / most, y / most]);
}
