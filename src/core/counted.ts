/** An amount with its noun, in the plural where English wants one: "1 save", "2 saves". */
export function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
