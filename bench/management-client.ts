// The clients of the benchmark in a process of their own: readers and writers on kept connections, and watchers that count lines.
import { Pool } from 'undici';
import { answerCommands } from './answering.ts';

export interface Target {
  port: number;
  caPem: string;
}

export type ClientCommand =
  /** Takes turns over paths and keys, on so many connections, for so long or so often. */
  | {
      kind: 'load';
      to: Target;
      connections: number;
      requests: number;
      method: string;
      paths: string[];
      keys: string[];
      bodies?: string[];
      type?: string;
    }
  | { kind: 'watch'; to: Target; path: string; keys: string[] }
  | { kind: 'heard'; atLeast: number; withinMs: number }
  | { kind: 'leave' };

export interface Load {
  perSecond: number;
  /** Milliseconds of each request, in no order. */
  times: number[];
  codes: Record<string, number>;
  lastBody: string;
}

let heard = 0;
let wake: (() => void) | undefined;
let leave: (() => Promise<void>)[] = [];

function poolTo({ port, caPem }: Target, connections: number): Pool {
  const connect = { ca: caPem, servername: 'localhost' };
  return new Pool(`https://127.0.0.1:${port}`, { connections, pipelining: 1, connect, bodyTimeout: 0 });
}

async function load(command: Extract<ClientCommand, { kind: 'load' }>): Promise<Load> {
  const { to, connections, requests, method, paths, keys, bodies = [], type = 'application/json' } = command;
  const pool = poolTo(to, connections);
  const times: number[] = [];
  const codes: Record<string, number> = {};
  let lastBody = '';
  let next = 0;
  const one = async () => {
    for (let n = next++; n < requests; n = next++) {
      const authorization = `Bearer ${keys[n % keys.length]}`;
      const body = bodies.length === 0 ? null : (bodies[n % bodies.length] as string).replaceAll('$N', String(n));
      const headers = body === null ? { authorization } : { authorization, 'content-type': type };
      const beganMs = performance.now();
      const answer = await pool.request({
        path: paths[n % paths.length] as string,
        method: method as 'GET',
        headers,
        body,
      });
      const text = await answer.body.text();
      times.push(performance.now() - beganMs);
      codes[answer.statusCode] = (codes[answer.statusCode] ?? 0) + 1;
      lastBody = text;
    }
  };
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  const perSecond = (requests * 1000) / (performance.now() - beganMs);
  await pool.close();
  return { perSecond, times, codes, lastBody };
}

/** Resolves when every watch is open. */
async function watch({ to, path, keys }: Extract<ClientCommand, { kind: 'watch' }>): Promise<number> {
  heard = 0;
  const pool = poolTo(to, keys.length);
  await Promise.all(
    keys.map(async (key) => {
      const { body } = await pool.request({ path, method: 'GET', headers: { authorization: `Bearer ${key}` } });
      body.on('data', (chunk: Buffer) => {
        for (const byte of chunk) if (byte === 0x0a) heard++;
        wake?.();
      });
      body.on('error', () => undefined);
    }),
  );
  leave.push(() => pool.destroy());
  return keys.length;
}

async function untilHeard(atLeast: number, withinMs: number): Promise<number> {
  const endMs = performance.now() + withinMs;
  while (heard < atLeast && performance.now() < endMs) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 50);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  return heard;
}

async function answer(command: ClientCommand): Promise<unknown> {
  switch (command.kind) {
    case 'load':
      return load(command);
    case 'watch':
      return watch(command);
    case 'heard':
      return untilHeard(command.atLeast, command.withinMs);
    case 'leave': {
      const all = leave;
      leave = [];
      await Promise.all(all.map((each) => each()));
      return true;
    }
    default:
      return command satisfies never;
  }
}

answerCommands<ClientCommand>(answer);
