/**
 * Runs the work for all items, at most `most` at a time. After a failure it waits for the work that
 * has started, then throws the first failure.
 */
export async function inParallel<Item>(items: readonly Item[], most: number, work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined && failures.length === 0; item = left.shift()) {
      await work(item).catch((thrown: unknown) => failures.push(thrown));
    }
  };
  await Promise.all(Array.from({ length: most }, worker));
  if (failures.length > 0) throw failures[0];
}
