/** The strategies to choose from: one that the chosen model cannot run is shown with the reason, and not chosen. */
import type { Strategy } from "../api/types";
import { t } from "../texts";
import type { Option } from "../ui/Choice";

export function runs(strategy: Strategy | undefined, model: string): boolean {
  return !strategy || !model || strategy.models.includes(model);
}

export function strategyOptions(strategies: readonly Strategy[], model: string): Option[] {
  return strategies.map((strategy) => {
    const disabled = !runs(strategy, model);
    return { id: strategy.name, name: strategy.name, disabled, note: disabled ? t.ask.needsModel : strategy.summary };
  });
}
