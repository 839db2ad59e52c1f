import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/** A whole number from `least`; `what` names it in a refusal: "a step". */
export function wholeNumber(what: string, least: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least ? parsed(value) : refused(`"${excerpt(text, 40)}" is not ${what}: a whole number from ${least}`);
  };
}

/** Any text but an empty one. */
export function someText(what: string): (text: string) => Parsed<string> {
  return (text) => (text === '' ? refused(`${what} is empty`) : parsed(text));
}
