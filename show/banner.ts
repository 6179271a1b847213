import type { RunningTour } from './start.ts';

/** The terminal output after the start. */
export function banner({ origin, providers }: RunningTour): string {
  const rows = [['Open', origin], ...b2bRows(origin, providers), ...backendRows(origin, providers), ['Stop', 'Ctrl+C']];
  return ['', ...rows.map(([name = '', text = '']) => `  ${name.padEnd(10)}${text}`), ''].join('\n');
}

function b2bRows(origin: string, { workos }: RunningTour['providers']): string[][] {
  if (workos === undefined) {
    return [
      ['B2B', 'your WorkOS project. Register in its dashboard, exactly so:'],
      ['', `redirect URI       ${origin}/callback`],
      ['', `sign-out redirect  ${origin}/`],
    ];
  }
  const people = [...workos.users.values()].map(({ email }) => email);
  return [
    ['B2B', `a local stand-in for WorkOS runs on ${workos.url}: no account, no key, no password.`],
    ['', `Sign in as ${people.join(', ')}, or create an account.`],
  ];
}

function backendRows(origin: string, { supabase }: RunningTour['providers']): string[][] {
  if (supabase === undefined) {
    return [
      ['Backend', 'your Supabase project. Register in its dashboard, exactly so:'],
      ['', `redirect URL       ${origin}/auth/callback`],
    ];
  }
  const { email, password } = supabase.demo;
  return [
    ['Backend', `a local Supabase project runs on ${supabase.url}, in memory.`],
    ['', `Sign in as ${email} with ${password}, or create an account.`],
    ['Mails', `${origin}/outbox`],
  ];
}
