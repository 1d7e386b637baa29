/** What the console does, as a command, as a request of curl and as Python. */
import type { Session } from "./api";

/** An argument as a POSIX shell reads it. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** `nuthatch …`, with the tenant whose data is shown. Nothing stands for arguments that are undefined. */
export function commandLine(session: Session, parts: (string | undefined)[]): string {
  const tenant = session.chosenTenant ?? session.caller.tenant ?? undefined;
  const given = parts.filter((part) => part !== undefined);
  return ["nuthatch", ...(tenant === undefined ? [] : ["--tenant", tenant]), ...given].map(quoted).join(" ");
}

export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  snapshot?: string | undefined;
}

/** Parts of an address, each percent-encoded. */
export function path(...parts: string[]): string {
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}

export function curl(session: Session, { method, path, query, body, snapshot }: Request): string {
  const given = Object.entries(query ?? {}).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const url = `${location.origin}${path}${given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`}`;
  const headers = [
    // The variable, not the key: commands end up in histories.
    ...(session.apiKey === undefined ? [] : [`-H "authorization: Bearer $NUTHATCH_KEY"`]),
    ...(session.chosenTenant === undefined
      ? []
      : [`-H ${quoted(`x-nuthatch-tenant: ${encodeURIComponent(session.chosenTenant)}`)}`]),
    ...(snapshot === undefined ? [] : [`-H ${quoted(`x-nuthatch-snapshot: ${snapshot}`)}`]),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`]),
  ];
  const sent = body === undefined ? [] : [`-d ${quoted(JSON.stringify(body))}`];
  const start = method === "GET" ? "curl" : `curl -X ${method}`;
  return [`${start} ${quoted(url)}`, ...headers, ...sent].join(" \\\n  ");
}

/** A value as Python writes it. */
export function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${pythonValue(one)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** A program that connects as the console does, and then does `lines`. */
export function python(session: Session, lines: string[]): string {
  const options = [
    JSON.stringify(location.origin),
    ...(session.apiKey === undefined ? [] : [`api_key=os.environ["NUTHATCH_KEY"]`]),
    ...(session.chosenTenant === undefined ? [] : [`tenant=${JSON.stringify(session.chosenTenant)}`]),
  ];
  const imports = session.apiKey === undefined ? ["import nuthatch"] : ["import os", "", "import nuthatch"];
  return [...imports, "", `with nuthatch.connect(${options.join(", ")}) as db:`, ...lines.map((line) => `    ${line}`)].join("\n");
}

/** Arguments of a Python call, those left out that are undefined. */
export function pythonArguments(positional: unknown[], named: Record<string, unknown>): string {
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return [...positional.map(pythonValue), ...given.map(([name, value]) => `${name}=${pythonValue(value)}`)].join(", ");
}
