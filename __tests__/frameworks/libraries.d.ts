// Installed beside this suite only, so that `npm ci` at the root stays small; with them, their own types count.
declare module '@trpc/client*';
declare module 'eventsource*';
