export default function RunsScreen() { return <p/>; }
