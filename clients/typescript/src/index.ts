/**
 * A typed client of a Nuthatch server.
 *
 * What it is: `fetch` with the addresses, bodies and answers of the server's OpenAPI document as types (`schema.ts`, generated), a key,
 * and errors that are thrown.
 * What it is not: a second description of the server. Which calls there are stands in the document.
 */
import createFetchClient, { type Client as FetchClient } from "openapi-fetch";

import type { components, paths } from "./schema.js";

/** Named types of the document: `Schemas["Search"]`, `Schemas["StoredRecord"]`. */
export type Schemas = components["schemas"];
export type { paths };

/** Calls by method and address: `client.POST("/v1/collections/{collection}/search", …)`. */
export type Client = FetchClient<paths>;

export interface Options {
  /** What `nuthatch key create` printed. */
  apiKey?: string;
  /** Whose data is seen, for keys of an administrator; other keys are of a tenant already. */
  tenant?: string;
  /** In place of the platform's own. */
  fetch?: (request: Request) => Promise<Response>;
}

/** What a server says when it does not do what it was asked. `kind` is what a caller can do about it. */
export class NuthatchError extends Error {
  override readonly name = "NuthatchError";
  readonly status: number;
  readonly kind: string;
  readonly remedy: string;
  /** The thing that it is about, when that has a name. */
  readonly subject: Schemas["Subject"] | undefined;

  constructor(problem: Schemas["Problem"]) {
    super(`${problem.detail}; ${problem.remedy}`);
    this.status = problem.status;
    this.kind = problem.kind;
    this.remedy = problem.remedy;
    this.subject = problem.subject;
  }
}

/** A client of the server at `url`. Every call throws {@link NuthatchError} where the server answers with a problem. */
export function connect(url: string, options: Options = {}): Client {
  const headers: Record<string, string> = {};
  if (options.apiKey !== undefined) headers["authorization"] = `Bearer ${options.apiKey}`;
  if (options.tenant !== undefined) headers["x-nuthatch-tenant"] = encodeURIComponent(options.tenant);
  const client = createFetchClient<paths>({
    baseUrl: url.replace(/\/+$/, ""),
    headers,
    // Bytes go as they are.
    bodySerializer: (body: unknown) => (body instanceof Blob ? body : JSON.stringify(body)),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  client.use({
    async onResponse({ response }) {
      if (response.ok) return;
      const type = response.headers.get("content-type") ?? "nothing";
      if (!type.startsWith("application/problem+json")) {
        throw new NuthatchError({
          status: response.status,
          title: response.statusText,
          kind: "unavailable",
          detail: `${url} answered ${response.status} with ${type}, as no Nuthatch server does`,
          remedy: "check the address",
        });
      }
      throw new NuthatchError((await response.json()) as Schemas["Problem"]);
    },
  });
  return client;
}

/** A vector as the base64 that the server reads quickest: a quarter of the size of numbers in JSON. */
export function packed(vector: Float32Array | readonly number[]): string {
  const floats = new DataView(new ArrayBuffer(vector.length * 4));
  vector.forEach((component: number, at: number) => floats.setFloat32(at * 4, component, true));
  return Buffer.from(floats.buffer).toString("base64");
}

/** What {@link packed} made, and what answers with `vector_format: "base64"` hold. */
export function unpacked(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  return Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}
