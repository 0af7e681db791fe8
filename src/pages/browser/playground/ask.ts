// Asks the server that the page came from. Out: its answer, or a sentence for the person who waits.
import { type EvaluationKind, playgroundLimits } from '../../playground-api.ts';
import { scriptHeader, statusHeader } from '../../script-headers.ts';

export type Asked<T> =
  | { kind: 'answer'; answer: T }
  | { kind: 'noToken' }
  /** isPassing: the same question may get an answer later. */
  | { kind: 'fault'; sentence: string; isPassing: boolean };

export async function ask<T>(kind: EvaluationKind, body: object, token: string): Promise<Asked<T>> {
  const text = JSON.stringify(body);
  if (new TextEncoder().encode(text).length > playgroundLimits.bodyBytes) {
    const sentence = `the texts are longer than ${playgroundLimits.bodyBytes} bytes; make them shorter`;
    return { kind: 'fault', sentence, isPassing: false };
  }
  let response: Response;
  try {
    response = await fetch(`/api/${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, [scriptHeader]: '1' },
      body: text,
    });
  } catch {
    const sentence = 'Hostward does not answer: it was stopped, or the tunnel to it is closed';
    return { kind: 'fault', sentence, isPassing: true };
  }
  const status = Number(response.headers.get(statusHeader) ?? response.status);
  if (status === 401) return { kind: 'noToken' };
  if (status === 200) return { kind: 'answer', answer: (await response.json()) as T };
  return { kind: 'fault', sentence: await sentenceOf(response), isPassing: response.headers.has('retry-after') };
}

async function sentenceOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { message } = JSON.parse(text) as { message?: string };
    return message ?? text;
  } catch {
    return text.trim();
  }
}
