/** Controls: React Aria's, with the labels and classes of the console. */
import { type ReactNode, useId } from "react";
import {
  Button as AriaButton,
  type ButtonProps,
  Checkbox as AriaCheckbox,
  Dialog as AriaDialog,
  DialogTrigger,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Modal,
  ModalOverlay,
  Popover,
  Select as AriaSelect,
  SelectValue,
  Tab,
  TabList,
  TabPanel,
  Tabs as AriaTabs,
  Text,
  TextArea,
  TextField,
} from "react-aria-components";

export function Button({ kind = "plain", ...props }: ButtonProps & { kind?: "plain" | "main" | "danger" | "quiet" }) {
  return <AriaButton {...props} className={`button ${kind}`} />;
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  help?: string;
  type?: "text" | "password" | "search" | "number";
  lines?: number;
  placeholder?: string;
  isRequired?: boolean;
  isReadOnly?: boolean;
  autoFocus?: boolean;
}

export function Field({ label, help, lines, type = "text", placeholder, autoFocus = false, ...field }: FieldProps) {
  return (
    <TextField {...field} type={type} className="field">
      <Label>{label}</Label>
      {lines === undefined ? (
        <Input placeholder={placeholder ?? ""} autoFocus={autoFocus} spellCheck={false} autoComplete="off" />
      ) : (
        <TextArea rows={lines} placeholder={placeholder ?? ""} spellCheck={false} />
      )}
      {help === undefined ? null : (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
    </TextField>
  );
}

export interface Choice {
  id: string;
  name: string;
}

export function Choose(props: {
  label: string;
  value: string;
  choices: (Choice | string)[];
  onChange: (value: string) => void;
}) {
  const items = props.choices.map((one) => (typeof one === "string" ? { id: one, name: one } : one));
  return (
    <AriaSelect
      className="field choose"
      value={props.value}
      onChange={(key) => {
        if (key !== null) props.onChange(String(key));
      }}
    >
      <Label>{props.label}</Label>
      <AriaButton className="button select">
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </AriaButton>
      <Popover className="popover">
        <ListBox items={items} className="choices">
          {(item) => (
            <ListBoxItem id={item.id} textValue={item.name} className="choice">
              {item.name}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}

export function Check(props: { children: ReactNode; isSelected: boolean; onChange: (isSelected: boolean) => void }) {
  return (
    <AriaCheckbox isSelected={props.isSelected} onChange={props.onChange} className="check">
      <span className="box" aria-hidden="true" />
      {props.children}
    </AriaCheckbox>
  );
}

/** A button that opens a dialog; `children` gets what closes it. */
export function DialogButton(props: {
  label: string;
  title: string;
  kind?: "plain" | "main" | "danger" | "quiet";
  isWide?: boolean;
  children: (close: () => void) => ReactNode;
}) {
  return (
    <DialogTrigger>
      <Button kind={props.kind ?? "plain"}>{props.label}</Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className={props.isWide === true ? "modal wide" : "modal"}>
          <AriaDialog className="dialog">
            {({ close }) => (
              <>
                <Heading slot="title">{props.title}</Heading>
                {props.children(close)}
              </>
            )}
          </AriaDialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

export interface TabOf {
  id: string;
  name: string;
  body: () => ReactNode;
}

/** Only the tab that is chosen is there. */
export function Tabs(props: { label: string; chosen: string; onChange: (id: string) => void; tabs: TabOf[] }) {
  return (
    <AriaTabs selectedKey={props.chosen} onSelectionChange={(key) => props.onChange(String(key))} className="tabs">
      <TabList aria-label={props.label} className="tab-list">
        {props.tabs.map((tab) => (
          <Tab key={tab.id} id={tab.id} className="tab">
            {tab.name}
          </Tab>
        ))}
      </TabList>
      {props.tabs.map((tab) => (
        <TabPanel key={tab.id} id={tab.id} className="tab-panel">
          {tab.body()}
        </TabPanel>
      ))}
    </AriaTabs>
  );
}

/** A part of a page with its heading. */
export function Panel(props: { title: string; children: ReactNode; actions?: ReactNode }) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.actions}
      </div>
      {props.children}
    </section>
  );
}
