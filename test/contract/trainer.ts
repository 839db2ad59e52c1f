import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A trainer of two ranks that speaks the SDK's protocol line by line, by
 * docs/reference/sdk-protocol.md, so it needs no Python. It records the messages it gets in a file.
 * Arguments: `finishes` or `waits`, and that file.
 */
const [manner = '', report = ''] = process.argv.slice(2);

type Message = Readonly<Record<string, unknown>>;

function tell(what: string, value: unknown): void {
  appendFileSync(report, `${JSON.stringify({ what, value })}\n`);
}

/** One connection: a rank. */
class Rank {
  readonly #socket: Socket;
  readonly #heard: Message[] = [];
  #wake = (): void => {};

  constructor(rank: number, world: number) {
    this.#socket = connect(process.env['HOLDFAST_SOCKET'] ?? '');
    createInterface({ input: this.#socket }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      tell('message', message);
      this.#heard.push(message);
      this.#wake();
    });
    this.say({ type: 'hello', protocol: 'holdfast.sdk/1', rank, world, pid: process.pid, dumpSignal: null });
  }

  say(message: Message): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** The next message of this type; earlier messages of other types are skipped. */
  async hear(type: string): Promise<Message> {
    for (;;) {
      while (this.#heard.length > 0) {
        const message = this.#heard.shift();
        if (message?.['type'] === type) return message;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  end(): void {
    this.#socket.end();
  }
}

/** Both ranks save a step: one file each, then the message. */
async function save(ranks: readonly Rank[], step: number): Promise<void> {
  for (const rank of ranks) rank.say({ type: 'begin', step, linked: false });
  for (const [index, rank] of ranks.entries()) {
    const { save: id, path, mark, names } = await rank.hear('folder');
    const image = join(dirname(String(path)), 'image.json');
    if (existsSync(image)) tell('image', JSON.parse(readFileSync(image, 'utf8')));
    writeFileSync(join(String(path), `state-${index}`), `rank ${index} at step ${step}`);
    if (typeof names === 'string') writeFileSync(names, JSON.stringify([`state-${index}`]));
    if (typeof mark === 'string') writeFileSync(mark, '');
    rank.say({ type: 'saved', save: id, stallMs: 1, waitedMs: 0, betweenMs: 0 });
  }
  for (const rank of ranks) await rank.hear('sealed');
}

/** The step at which both ranks are asked to save. */
async function askedStep(word: string): Promise<number> {
  const { at } = await first.hear('save');
  console.log(word);
  for (const rank of ranks) rank.say({ type: 'step', step: Number(at), metrics: { loss: 0.5 } });
  return Number(at);
}

tell('environment', Object.keys(process.env));
const first = new Rank(0, 2);
const second = new Rank(1, 2);
const ranks = [first, second];
for (const rank of ranks) {
  const { resume } = (await rank.hear('welcome')) as { resume: { step: number } | null };
  rank.say({ type: 'step', step: (resume?.step ?? 0) + 1, metrics: { loss: 0.5 } });
}

if (manner === 'finishes') {
  await save(ranks, 1);
  // Reserves memory for a kept file, then releases it.
  first.say({ type: 'reserve', bytes: 4096 });
  await first.hear('reserved');
  first.say({ type: 'reserve', bytes: 0 });
  // A second process that claims to be rank 0.
  const twin = new Rank(0, 2);
  await twin.hear('welcome');
  twin.say({ type: 'begin', step: 2, linked: false });
  await twin.hear('refused');
  twin.end();
  // A save in which one rank fails to write.
  for (const rank of ranks) rank.say({ type: 'begin', step: 2, linked: false });
  for (const rank of ranks) {
    const { save: id } = await rank.hear('folder');
    rank.say({ type: 'failed', save: id, reason: 'no room' });
  }
  await first.hear('lost');
  first.say({ type: 'take', step: 1, agreed: false });
  await first.hear('taken');
  for (const rank of ranks) {
    rank.say({ type: 'agrees', withinMs: null });
    rank.say({ type: 'busy', what: 'evaluation' });
    rank.say({ type: 'busy', what: null });
    rank.say({ type: 'step', step: 3, metrics: {} });
  }
  await save(ranks, 3);
  for (const rank of ranks) rank.say({ type: 'finish' });
  for (const rank of ranks) await rank.hear('bye');
} else {
  await save(ranks, 4);
  console.log('ready');
  // First the supervisor asks for a save, then a notice comes.
  await save(ranks, await askedStep('asked'));
  const mayGoOn = new Promise((resolve) => process.once('SIGUSR2', resolve));
  const step = await askedStep('flushing');
  await mayGoOn;
  await save(ranks, step);
}
for (const rank of ranks) rank.end();
