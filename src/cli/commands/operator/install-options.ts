import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import { excerpt } from '../../../core/printable.ts';
import type { OptionTable } from '../../frame/command.ts';

const LONGEST_LABEL = 63;

/** The name of a namespace, by the rule of Kubernetes. */
function parseNamespace(text: string): Parsed<string> {
  if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= LONGEST_LABEL) return parsed(text);
  return refused(`"${excerpt(text, 80)}" is not a namespace: at most ${LONGEST_LABEL} lower case letters, digits and dashes`);
}

/** The name of an image, as a manifest holds it. */
export function parseImage(text: string): Parsed<string> {
  if (/^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,400}$/.test(text)) return parsed(text);
  return refused(`"${excerpt(text, 80)}" is not an image: REGISTRY/NAME:TAG`);
}

/** Where the operator runs, and for which jobs. */
export const PLACE_OPTIONS = {
  namespace: {
    kind: 'value',
    value: 'NAMESPACE',
    short: 'n',
    parse: parseNamespace,
    description: 'The namespace of the operator',
    default: 'holdfast-system',
  },
  'watch-namespace': {
    kind: 'value',
    value: 'NAMESPACE',
    parse: parseNamespace,
    description: 'Run only the jobs of this namespace, with permissions for it alone (default: of all namespaces)',
  },
} as const satisfies OptionTable;
