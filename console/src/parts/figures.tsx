/** Numbers for people, and bars. */
const COUNT = new Intl.NumberFormat("en");

export function count(value: number): string {
  return COUNT.format(value);
}

export function bytes(value: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let rest = value;
  while (rest >= 1024 && at < units.length - 1) {
    rest /= 1024;
    at += 1;
  }
  return `${at === 0 || rest >= 100 ? rest.toFixed(0) : rest.toFixed(1)} ${units[at]}`;
}

export function time(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

export function seconds(value: number): string {
  if (value < 90) return `${Math.round(value)} s`;
  return value < 5400 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
}

/** A bar with its name and figure in words; `of` is the whole. */
export function Bar(props: { name: string; value: number; of: number; said: string; tone?: number }) {
  const share = props.of > 0 ? Math.min(1, props.value / props.of) : 0;
  return (
    <div className="bar-row">
      <span className="bar-name">{props.name}</span>
      <svg className={`bar tone-${props.tone ?? 0}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect className="bar-back" width="100" height="10" />
        <rect className="bar-front" width={share * 100} height="10" />
      </svg>
      <span className="bar-said">{props.said}</span>
    </div>
  );
}

/** A list of names with figures. */
export function Facts({ of }: { of: [string, string | number | undefined][] }) {
  const told = of.filter((one): one is [string, string | number] => one[1] !== undefined);
  return (
    <dl className="facts">
      {told.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "number" ? count(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}
