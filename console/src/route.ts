/** Which page is shown: the fragment of the address, `#/collections/notes?where=year > 2024`. */
import { useSyncExternalStore } from "react";

export interface Route {
  parts: string[];
  params: URLSearchParams;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { parts: path.split("/").filter(Boolean).map(decoded), params: new URLSearchParams(query) };
}

/** What is not percent-encoded as it should be is taken as it stands: no page has such a name, and says so. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf(parts: string[], params: Record<string, string | undefined> = {}): string {
  const given = Object.entries(params).filter((one): one is [string, string] => one[1] !== undefined && one[1] !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

export function go(parts: string[], params: Record<string, string | undefined> = {}) {
  location.hash = hrefOf(parts, params);
}

function subscribe(changed: () => void) {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => location.hash));
}
