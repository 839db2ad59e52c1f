/** What a shell expands and Kubernetes does not: `$(date +%F)`, `${NAME}`, backticks. */
const EXPANDED = /\$\([A-Za-z_]\w*\s[^)]*\)|\$\{[A-Za-z_]\w*[^}]*\}|`[^`]+`/;
const JOINT = /^(?:\|\|?|&&|;)$/;
const REDIRECTION = /^(?:>>?|<|2>&1)$/;
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * The words as a script that replaces its shell, where they only make sense in one. Null where they
 * need no shell, and where the shell would have to stay between the supervisor and the trainer.
 */
export function shellCommand(words: readonly string[]): string | null {
  const needsShell = words.some((word) => EXPANDED.test(word) || REDIRECTION.test(word));
  if (!needsShell || words.some((word) => JOINT.test(word))) return null;
  const quoted = words.map(quote);
  return quoted.includes(null) ? null : `exec ${quoted.join(' ')}`;
}

/** Null for a word whose own quotes leave open what was meant. */
function quote(word: string): string | null {
  if (REDIRECTION.test(word) || PLAIN.test(word)) return word;
  if (!/[$`]/.test(word)) return `'${word.replaceAll("'", String.raw`'\''`)}'`;
  return word.replace(EXPANDED, '').includes('"') ? null : `"${word}"`;
}
