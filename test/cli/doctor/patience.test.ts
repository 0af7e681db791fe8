import { describe, expect, it } from 'vitest';
import { Patience } from '../../../src/cli/doctor/patient/patience.ts';
import { VirtualClock } from '../../virtual-clock.ts';

function waiting() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const patience = new Patience(clock, (line) => lines.push(line));
  const ask = (question: string, from = 'the host cluster') => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const answer = patience.during({ from, question }, promise);
    return { answer, resolve };
  };
  return { clock, lines, ask };
}

describe('Patience', () => {
  it('says nothing of an answer that comes within five seconds', async () => {
    const { clock, lines, ask } = waiting();
    const { answer, resolve } = ask('GET /version');
    await clock.advance(4_999);
    resolve('fine');
    expect(await answer).toBe('fine');
    await clock.advance(60_000);
    expect([lines, clock.pendingTimers]).toEqual([[], 0]);
  });

  it('names the answer that is waited for, once for many questions that wait together', async () => {
    const { clock, lines, ask } = waiting();
    for (const question of ['GET /a', 'GET /b']) ask(question);
    ask('GET /c', 'the virtual cluster');
    await clock.advance(5_000);
    expect(lines).toEqual([
      'waiting for the host cluster to answer GET /a\n',
      'waiting for the virtual cluster to answer GET /c\n',
    ]);
    ask('GET /d');
    await clock.advance(5_000);
    expect(lines[2]).toBe('waiting for the host cluster to answer GET /d\n');
  });
});
