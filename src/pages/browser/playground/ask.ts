// Asks the server that the page came from. Out: its answer, or a sentence for the person who waits.
import type { EvaluationKind } from '../../playground-api.ts';

export type Asked<T> = { kind: 'answer'; answer: T } | { kind: 'noToken' } | { kind: 'fault'; sentence: string };

export async function ask<T>(kind: EvaluationKind, body: object, token: string): Promise<Asked<T>> {
  let response: Response;
  try {
    response = await fetch(`/api/${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  } catch {
    return { kind: 'fault', sentence: 'Hostward does not answer: it was stopped, or the tunnel to it is closed.' };
  }
  if (response.status === 401) return { kind: 'noToken' };
  if (response.ok) return { kind: 'answer', answer: (await response.json()) as T };
  return { kind: 'fault', sentence: await sentenceOf(response) };
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
