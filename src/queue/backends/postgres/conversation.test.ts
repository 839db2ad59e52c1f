import { describe, expect, it } from 'vitest';
import { Conversation } from './conversation.ts';

/** A connection that records what it gets, and fails at some commands or statements. */
function connection(failing: Readonly<Record<string, string>>): { readonly sent: string[]; readonly conversation: Conversation } {
  const sent: string[] = [];
  const conversation = new Conversation(async (asked) => {
    const name = typeof asked === 'string' ? asked : asked.name;
    sent.push(name);
    await Promise.resolve();
    if (failing[name] !== undefined) throw new Error(failing[name]);
    return { command: Object.keys(failing).length > 0 && name === 'COMMIT' ? 'ROLLBACK' : name, rows: [] };
  });
  return { sent, conversation };
}

describe('a transaction that does not wait for each answer', () => {
  it('writes nothing if it has not begun', async () => {
    const { sent, conversation } = connection({ BEGIN: 'the connection is gone' });
    await expect(conversation.read('findQueue', ['q'])).resolves.toEqual([]);
    await expect(conversation.write('pauseQueue', [1, true])).rejects.toThrow('the connection is gone');
    await expect(conversation.change('addQueue', ['q', 0])).rejects.toThrow('the connection is gone');
    expect(sent).toEqual(['BEGIN', 'findQueue']);
  });

  it('fails with the error of its first failed write, and does not look committed', async () => {
    const { conversation } = connection({ insertResults: 'duplicate key', count: 'the transaction is aborted' });
    await conversation.write('insertResults', []);
    await conversation.write('count', []);
    await expect(conversation.commit()).rejects.toThrow('duplicate key');
    expect(conversation.failure).toMatchObject({ message: 'duplicate key' });
  });

  it('does not take a rollback for a commit', async () => {
    const conversation = new Conversation(async (asked) => ({ command: asked === 'COMMIT' ? 'ROLLBACK' : 'BEGIN', rows: [] }));
    await expect(conversation.commit()).rejects.toThrow('the transaction ended with ROLLBACK');
  });
});
