/** Writes the types of docs/openapi.json: node generate.mjs FILE. Bytes are a `Blob`, as `fetch` gives and takes them. */
import { writeFileSync } from "node:fs";

import openapiTS, { COMMENT_HEADER, astToString } from "openapi-typescript";
import ts from "typescript";

const BLOB = ts.factory.createTypeReferenceNode("Blob");

const types = await openapiTS(new URL("../../docs/openapi.json", import.meta.url), {
  alphabetize: true,
  emptyObjectsUnknown: true,
  transform: (schema) => (schema.format === "binary" ? BLOB : undefined),
});
writeFileSync(process.argv[2], `${COMMENT_HEADER}${astToString(types)}`);
