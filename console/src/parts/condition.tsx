/** A field for a condition of the `where` language, which completes names of fields, operators and values. */
import { useQuery } from "@tanstack/react-query";
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from "react-aria-components";

import { type Schemas, data, useSession } from "../api";

interface Completion {
  id: string;
  /** The condition once this is chosen. */
  whole: string;
  shown: string;
  about: string;
}

const RESERVED = new Set(["and", "or", "not", "in", "is", "null", "true", "false", "between", "like"]);
const JOINS = ["and", "or"];
const TESTS = ["=", "!=", ">=", "<=", ">", "<", "in (", "like '", "contains '", "is null", "is not null", "between"];

/** The name of a field as the language takes it. */
export function written(field: string): string {
  const part = (name: string) =>
    /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !RESERVED.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
  return field.split(".").map(part).join(".");
}

/** A value of a payload as the language writes it. */
export function literal(value: unknown): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** What is being written at the end: a value after `field =`, a test after a field, a joint after a test, or a field. */
function at(text: string, fields: string[]): { kind: "field" | "test" | "value" | "join"; field?: string; start: string; rest: string } {
  const value = /^(.*?)((?:[\w."]+))\s*(=|==|!=|<>|<=|>=|<|>)\s*('?)([^']*)$/su.exec(text);
  if (value !== null) {
    const [, before = "", name = "", operator = "", , typed = ""] = value;
    const field = fields.find((one) => written(one) === name);
    if (field !== undefined) return { kind: "value", field, start: `${before}${name} ${operator} `, rest: typed };
  }
  const word = /[^\s()]*$/u.exec(text)?.[0] ?? "";
  const start = text.slice(0, text.length - word.length);
  const previous = /(\S+)\s+$/u.exec(start)?.[1];
  if (previous !== undefined && fields.some((field) => written(field) === previous)) return { kind: "test", start, rest: word };
  if (previous !== undefined && /['\d)]$|^(null|true|false)$/iu.test(previous)) return { kind: "join", start, rest: word };
  return { kind: "field", start, rest: word };
}

export function completions(
  text: string,
  fields: Record<string, string[]>,
  values: Record<string, unknown[]>,
): Completion[] {
  const names = Object.keys(fields).sort();
  const place = at(text, names);
  const starts = (candidate: string) => candidate.toLowerCase().startsWith(place.rest.toLowerCase());
  const made = (shown: string, about: string, after = " "): Completion => {
    const whole = `${place.start}${shown}${after}`;
    return { id: whole, whole, shown, about };
  };
  switch (place.kind) {
    case "value":
      return (values[place.field ?? ""] ?? [])
        .filter((value) => String(value).toLowerCase().startsWith(place.rest.toLowerCase()))
        .map((value) => made(literal(value), "value"));
    case "test":
      return TESTS.filter(starts).map((test) => made(test, "test", test.endsWith("'") || test.endsWith("(") ? "" : " "));
    case "join":
      return JOINS.filter(starts).map((join) => made(join, "joins tests"));
    case "field":
      return names.filter((name) => starts(written(name))).map((name) => made(written(name), (fields[name] ?? []).join(", ")));
  }
}

export function Condition(props: {
  collection: Schemas["Collection"];
  value: string;
  onChange: (value: string) => void;
  label?: string;
}) {
  const { client } = useSession();
  const { collection } = props;
  const field = at(props.value, Object.keys(collection.fields)).field;
  const values = useQuery({
    queryKey: ["values", collection.name, field],
    enabled: field !== undefined,
    queryFn: () =>
      data(
        client.POST("/v1/collections/{collection}/facets", {
          params: { path: { collection: collection.name } },
          body: { fields: [field ?? ""], limit: 20 },
        }),
      ),
  });
  const known = field === undefined ? {} : { [field]: (values.data?.facets[0]?.values ?? []).map((one) => one.value) };
  const items = completions(props.value, collection.fields, known).slice(0, 30);
  return (
    <ComboBox
      className="field condition"
      items={items}
      inputValue={props.value}
      onInputChange={props.onChange}
      // What is offered was chosen for what is written.
      defaultFilter={() => true}
      allowsCustomValue
      menuTrigger="input"
      selectedKey={null}
      // Both are ours: a choice is no more than another text.
      onSelectionChange={(key) => {
        if (key !== null) props.onChange(String(key));
      }}
    >
      <Label>{props.label ?? "Filter (where)"}</Label>
      <Input placeholder="year >= 2024 and team in ('core', 'ops')" spellCheck={false} autoComplete="off" />
      <Text slot="description" className="help">
        {Object.keys(collection.fields).length === 0
          ? "The records have no fields."
          : "Type to complete fields, tests and values; arrow keys choose."}
      </Text>
      <Popover className="popover">
        <ListBox<Completion> className="choices">
          {(item) => (
            <ListBoxItem id={item.id} textValue={item.whole} className="choice">
              <span>{item.shown}</span> <span className="about">{item.about}</span>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
