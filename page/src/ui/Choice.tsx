/** One of several, from a list that opens. */
import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue, Text } from "react-aria-components";

export interface Option {
  id: string;
  name: string;
  note?: string;
  disabled?: boolean;
}

export interface ChoiceProps {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (id: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  const chosen = options.find((option) => option.id === value);
  return (
    <Select className="field" value={value || null} onChange={(key) => key !== null && onChange(String(key))}>
      <Label className="field-label">{label}</Label>
      <Button className="field-value pick">
        <SelectValue className="pick-value">{() => <bdi>{chosen?.name ?? "–"}</bdi>}</SelectValue>
        <svg width="10" height="6" viewBox="0 0 10 6" aria-hidden="true"><path d="M1 1l4 4 4-4" className="stroke" /></svg>
      </Button>
      <Popover className="popover">
        <ListBox className="options" items={options}>
          {(option) => (
            <ListBoxItem id={option.id} textValue={option.name} isDisabled={option.disabled ?? false} className="option">
              <Text slot="label">{option.name}</Text>
              {option.note && <Text slot="description" className="option-note">{option.note}</Text>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  );
}
