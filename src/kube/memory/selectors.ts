import type { ApiObject } from '../api/api-object.ts';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { at } from '../objects/fields.ts';

/** Whether an object is selected. */
export type Predicate = (object: ApiObject) => boolean;

/** The meaning of a label selector and a field selector together. */
export function selectorOf(labels: string, fields: string): Parsed<Predicate> {
  const predicates: Predicate[] = [];
  for (const term of termsOf(labels)) {
    const predicate = labelTerm(term);
    if (predicate === null) return refused(`the label selector has the term "${term}"`);
    predicates.push(predicate);
  }
  for (const term of termsOf(fields)) {
    const predicate = fieldTerm(term);
    if (predicate === null) return refused(`the field selector has the term "${term}"`);
    predicates.push(predicate);
  }
  return parsed((object) => predicates.every((selects) => selects(object)));
}

/** Splits at the commas that stand outside of parentheses. */
function termsOf(text: string): readonly string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}

function labelTerm(term: string): Predicate | null {
  const set = /^([\w./-]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(term);
  if (set !== null) {
    const [, name = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (object) => {
      const value = labelOf(object, name);
      return (value !== undefined && values.has(value)) === (operator === 'in');
    };
  }
  const comparison = /^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$/.exec(term);
  if (comparison !== null) {
    const [, name = '', operator, wanted] = comparison;
    return (object) => (labelOf(object, name) === wanted) === (operator !== '!=');
  }
  const presence = /^(!?)([\w./-]+)$/.exec(term);
  if (presence === null) return null;
  const [, not, name = ''] = presence;
  return (object) => (labelOf(object, name) !== undefined) === (not === '');
}

function labelOf({ metadata }: ApiObject, name: string): string | undefined {
  return metadata.labels?.[name];
}

function fieldTerm(term: string): Predicate | null {
  const match = /^([\w.]+)\s*(==|=|!=)\s*(.*)$/.exec(term);
  if (match === null) return null;
  const [, path = '', operator, wanted] = match;
  const names = path.split('.');
  return (object) => {
    const value = at(object, ...names);
    return ((typeof value === 'string' ? value : '') === wanted) === (operator !== '!=');
  };
}
