/** Figures over the time that a page has been open: the server keeps no history of them. */
import { useEffect, useState } from "react";

interface Sample {
  at: number;
  values: number[];
}

const SAMPLES_MAX = 150;

/** The samples so far; `at` tells one answer of the server from another. */
function useSamples(at: number, values: number[]): Sample[] {
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => {
    setSamples((before) => (before.at(-1)?.at === at ? before : [...before.slice(1 - SAMPLES_MAX), { at, values }]));
    // The values belong to the moment.
  }, [at]);
  return samples;
}

export function History(props: { label: string; at: number; series: { name: string; value: number; tone: number }[]; said: (value: number) => string }) {
  const { series, said } = props;
  const samples = useSamples(props.at, series.map((one) => one.value));
  const first = samples[0];
  const last = samples.at(-1);
  // One sample is no line yet.
  if (first === undefined || last === undefined || first === last) return null;
  const span = Math.max(1, last.at - first.at);
  const most = Math.max(1e-9, ...samples.flatMap((sample) => sample.values)) * 1.05;
  const seconds = Math.round(span / 1000);
  return (
    <figure className="history">
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label={`${props.label}, the last ${seconds} seconds; the figures stand beside it`}>
        {series.map((one, line) => (
          <polyline
            key={one.name}
            className={`line-${one.tone}`}
            points={samples.map((sample) => `${((sample.at - first.at) / span) * 100},${40 - ((sample.values[line] ?? 0) / most) * 40}`).join(" ")}
          />
        ))}
      </svg>
      <figcaption>
        {props.label} while this page is open
        <ul className="legend">
          {series.map((one) => (
            <li key={one.name}>
              <svg className={`colour-${one.tone}`} viewBox="-1 -1 2 2" aria-hidden="true"><circle r="1" /></svg>
              {one.name}: {said(one.value)}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}
