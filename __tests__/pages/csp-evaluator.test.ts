import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js';
import { Severity, Type } from 'csp_evaluator/dist/finding.js';
import type { Finding } from 'csp_evaluator/dist/finding.js';
import { CspParser } from 'csp_evaluator/dist/parser.js';
import { everyPageState } from '../support/built-in-pages.ts';

/** Of each URL that may be a script, it asks whether JSONP or Angular is there. This one is our own file. */
function isOwnScript({ type, severity, value }: Finding): boolean {
  const asks = type === Type.SCRIPT_ALLOWLIST_BYPASS && severity === Severity.MEDIUM_MAYBE;
  return asks && value === 'https://northwind.example/auth/pages.js';
}

const states = everyPageState({ title: 'Northwind', logo: '/logo.svg', logoDark: 'https://cdn.example/dark.svg' });

it.each(Object.entries(states))('csp_evaluator finds no weakness in the policy of the page "%s"', (_, { body }) => {
  const { csp } = new CspParser(body?.kind === 'page' ? body.policy : '');
  const findings = new CspEvaluator(csp).evaluate().filter((finding) => !isOwnScript(finding));
  expect(findings.map(({ directive, value, description }) => [directive, value, description])).toEqual([]);
});
