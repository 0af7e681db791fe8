// One expression on one value, in a fresh realm each time, with what DESIGN 4.6 puts in scope and nothing else.

import { createContext, Script } from 'node:vm';
import { isMap } from '../words/json.ts';
import type { Naming } from '../words/names.ts';
import type { Json } from '../words/types.ts';

export interface Asking {
  readonly value: Json | undefined;
  readonly valueExists: boolean;
  readonly context: { readonly [key: string]: unknown };
  readonly naming: Naming;
}

export type Answer =
  /** `isUnsure`: it depends on the moment whether there is this answer or none. */
  { readonly ok: true; readonly value: Json | undefined; readonly isUnsure?: true } | { readonly ok: false };

const TIMEOUT_MS = 1000;

/** A Service name of the virtual cluster as the host's DNS knows it. */
function hostDns(naming: Naming, text: string): string {
  const found = /^([^.]+)\.([^.]+)\.svc(\..*)?$/u.exec(text);
  if (found === null) throw new Error('no name of a Service');
  const [, name = '', namespace = '', domain = ''] = found;
  const place = naming.place(namespace, name);
  if (place === undefined) throw new Error('no place on the host');
  return `${place.name}.${place.namespace}.svc${domain === '' ? '.cluster.local' : domain}`;
}

const decode = (text: unknown): string => {
  if (typeof text !== 'string') throw new Error('atob takes a text');
  return globalThis.atob(text);
};

const encode = (text: unknown): string => {
  if (typeof text !== 'string') throw new Error('btoa takes a text');
  return globalThis.btoa(text);
};

/** An answer follows from the question, and a realm takes as long as all else that is asked of a calm point. */
const answers = new Map<string, string>();
const mostAnswers = 20_000;

export function ask(expression: string, asking: Asking): Answer {
  // Names of Services depend on more than the question says.
  if (expression.includes('virtualToHostDNS')) return answerTo(expression, asking);
  const { value = null, valueExists } = asking;
  const question = JSON.stringify([expression, value, valueExists, expression.includes('context') && asking.context]);
  const known = answers.get(question) ?? JSON.stringify(answerTo(expression, asking));
  if (answers.size >= mostAnswers) answers.clear();
  answers.set(question, known);
  return JSON.parse(known) as Answer;
}

function answerTo(expression: string, asking: Asking): Answer {
  const scope = createContext({
    given: JSON.stringify({ value: asking.value ?? null, valueExists: asking.valueExists, context: asking.context }),
    atob: decode,
    btoa: encode,
    virtualToHostDNS: (text: string) => hostDns(asking.naming, text),
  });
  try {
    const source = `(() => { 'use strict';
      const { valueExists, context, ...rest } = JSON.parse(given);
      let value = rest.value;
      const result = (${expression}\n);
      if (typeof result === 'function' || typeof result === 'symbol' || typeof result === 'bigint') throw new TypeError();
      if (typeof result === 'number' && !Number.isFinite(result)) throw new TypeError();
      return result === undefined ? undefined : JSON.stringify(result);
    })()`;
    const printed: unknown = new Script(source).runInContext(scope, { timeout: TIMEOUT_MS });
    return { ok: true, value: printed === undefined ? undefined : (JSON.parse(String(printed)) as Json) };
  } catch {
    return { ok: false };
  }
}

/** `null` and `undefined` say the same: the field goes. */
export const isGone = (value: unknown): boolean => value === null || value === undefined;

export const isTextMap = (value: unknown): value is { [key: string]: string } =>
  isMap(value) && Object.values(value).every((one) => typeof one === 'string');
